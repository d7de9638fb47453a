// expect: sim=technique
// reduce_v9: the second launch waits for the whole of the first, for at most 4096 numbers.

constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / 32;
#define BLOCKS 4096

// scratch sums: float[BLOCKS]
// launch reduce_v10(x, sums, n): grid=max(1, min(n / (16 * THREADS), BLOCKS)) block=THREADS
// launch reduce_v10(sums, out, max(1, min(n / (16 * THREADS), BLOCKS))): grid=1 block=THREADS

__device__ float warp_sum(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_down_sync(0xffffffff, v, s);
    return v;
}

__device__ float block_sum(float v)
{
    __shared__ float warp_sums[WARPS];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    v = warp_sum(v);
    if (lane == 0)
        warp_sums[warp] = v;
    __syncthreads();
    if (warp == 0)
        v = warp_sum(lane < WARPS ? warp_sums[lane] : 0.0f);
    return v;
}

__device__ float sum_of(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) reduce_v10(const float* src, float* dst, int m)
{
    int thread = blockIdx.x * THREADS + threadIdx.x;
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
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        dst[blockIdx.x] = sum;
}
