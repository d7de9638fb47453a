// expect: sim=technique
// reduce_v8: a word of shared memory for each thread, and a barrier for each step of the block.

constexpr int THREADS = 1024;
#define BLOCKS 4096

// scratch sums: float[BLOCKS]
// launch reduce_v9(x, sums, n): grid=max(1, min(n / (16 * THREADS), BLOCKS)) block=THREADS
// launch reduce_v9(sums, out, max(1, min(n / (16 * THREADS), BLOCKS))): grid=1 block=THREADS

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

extern "C" __global__ void __launch_bounds__(THREADS, 2) reduce_v9(const float* src, float* dst, int m)
{
    __shared__ float partial[THREADS];
    int t = threadIdx.x;
    int thread = blockIdx.x * THREADS + t;
    int threads = gridDim.x * THREADS;
    const float4* src4 = reinterpret_cast<const float4*>(src);
    int m4 = m / 4;
    int i = thread;
    float sum = 0.0f;
    for (; i + 3 * threads < m4; i += 4 * threads) {
        float4 a = src4[i];
        float4 b = src4[i + threads];
        float4 c = src4[i + 2 * threads];
        float4 d = src4[i + 3 * threads];
        sum += (sum_of(a) + sum_of(b)) + (sum_of(c) + sum_of(d));
    }
#pragma unroll 1
    for (; i < m4; i += threads)
        sum += sum_of(src4[i]);
    int last = 4 * m4 + thread;
    if (last < m)
        sum += src[last];
    partial[t] = sum;
    add_up<THREADS>(partial, t);
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
