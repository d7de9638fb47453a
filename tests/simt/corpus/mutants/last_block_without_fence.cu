// expect: race
// line: 32
// kind: missing_fence
// The last block to finish adds up the sums of the others; nothing makes their writes visible before the ticket.

// scratch sums: float[cdiv(n, 256)]
// launch reduce(x, out, sums, n): grid=cdiv(n, 256) block=256

__device__ unsigned tickets = 0;

extern "C" __global__ void reduce(const float* src, float* dst, float* sums, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    __shared__ bool last;
    if (t == 0) {
        sums[blockIdx.x] = partial[0];
        last = atomicAdd(&tickets, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float sum = 0.0f;
        for (int k = 0; k < gridDim.x; ++k)
            sum += sums[k];
        *dst = sum;
        tickets = 0;
    }
}
