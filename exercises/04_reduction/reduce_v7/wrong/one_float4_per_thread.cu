// expect: sim=pass gpu=slow
// A vector load, and no loop: the block pays for its tree after one load of each thread.

constexpr int THREADS = 256;

// scratch ping, pong: float[cdiv(n, 4 * THREADS)]
// passes m=n until 1 by cdiv(m, 4 * THREADS): reduce_v7(src, dst, m): grid=cdiv(m, 4 * THREADS) block=THREADS

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

__device__ float sum_of(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

extern "C" __global__ void __launch_bounds__(THREADS, 8) reduce_v7(const float* src, float* dst, int m)
{
    __shared__ float partial[THREADS];
    int t = threadIdx.x;
    int thread = blockIdx.x * THREADS + t;
    const float4* src4 = reinterpret_cast<const float4*>(src);
    int m4 = m / 4;
    float sum = 0.0f;
    if (thread < m4)
        sum = sum_of(src4[thread]);
    int last = 4 * m4 + thread;
    if (last < m)
        sum += src[last];
    partial[t] = sum;
    add_up<THREADS>(partial, t);
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
