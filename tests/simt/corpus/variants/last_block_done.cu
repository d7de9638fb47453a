// expect: pass
// One launch: the last block to finish adds up the sums of the others.

// scratch sums: float[cdiv(n, 256)]
// launch reduce(x, out, sums, n): grid=cdiv(n, 256) block=256

__device__ unsigned int tickets = 0;

extern "C" __global__ void reduce(const float* src, float* dst, float* sums, int m)
{
    __shared__ float partial[256];
    __shared__ bool last;
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0) {
        sums[blockIdx.x] = partial[0];
        // The sum is visible to the whole GPU before the ticket is drawn.
        __threadfence();
        last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
        // What the others wrote before their tickets is read after this one.
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return;
    float sum = 0.0f;
    for (int k = t; k < gridDim.x; k += 256)
        sum += sums[k];
    partial[t] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        *dst = partial[0];
}
