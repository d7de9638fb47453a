// expect: pass
// A grid-stride loop with compensated summation.

// scratch sums: float[min(cdiv(n, 128), 2 * sm_count)]
// launch reduce(x, sums, n): grid=min(cdiv(n, 128), 2 * sm_count) block=128
// launch reduce(sums, out, min(cdiv(n, 128), 2 * sm_count)): grid=1 block=128

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[128];
    float sum = 0.0f, lost = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < m; i += gridDim.x * blockDim.x) {
        float y = src[i] - lost;
        float next = sum + y;
        lost = (next - sum) - y;
        sum = next;
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (threadIdx.x < s)
            partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        dst[blockIdx.x] = partial[0];
}
