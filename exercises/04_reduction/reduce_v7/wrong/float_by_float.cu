// expect: sim=technique
// A grid that strides, but each load brings 4 bytes: four times as many requests for the same sectors.

constexpr int THREADS = 1024;
#define BLOCKS 4096

// scratch sums: float[BLOCKS]
// launch reduce_v7(x, sums, n): grid=min(cdiv(n, 16 * THREADS), BLOCKS) block=THREADS
// launch reduce_v7(sums, out, min(cdiv(n, 16 * THREADS), BLOCKS)): grid=1 block=THREADS

template <int BLOCK>
__device__ void add_up(float* partial, int t)
{
    __syncthreads();

#pragma unroll
    for (int s = BLOCK / 2; s > 32; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t < 32) {
#pragma unroll
        for (int s = 32; s > 0; s /= 2) {
            if (t < s)
                partial[t] += partial[t + s];
            __syncwarp();
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) reduce_v7(const float* src, float* dst, int m)
{
    __shared__ float partial[THREADS];
    int t = threadIdx.x;
    int thread = blockIdx.x * THREADS + t;
    int threads = gridDim.x * THREADS;
    float sum = 0.0f;
    for (int i = thread; i < m; i += threads)
        sum += src[i];
    partial[t] = sum;
    add_up<THREADS>(partial, t);
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
