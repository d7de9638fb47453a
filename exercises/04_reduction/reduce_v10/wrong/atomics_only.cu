// expect: sim=technique
// Every block adds onto out: one launch, but the last bits depend on who comes first, and out needs a zero.

constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / 32;
#define BLOCKS 4096

// zero out
// launch reduce_v10(x, out, n): grid=max(1, min(n / (16 * THREADS), BLOCKS)) block=THREADS

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

extern "C" __global__ void __launch_bounds__(THREADS, 2) reduce_v10(const float* x, float* out, int n)
{
    int thread = blockIdx.x * THREADS + threadIdx.x;
    int threads = gridDim.x * THREADS;
    const float4* x4 = reinterpret_cast<const float4*>(x);
    int n4 = n / 4;
    int i = thread;
    float sum = 0.0f;
    for (; i + 3 * threads < n4; i += 4 * threads) {
        float4 a = x4[i];
        float4 b = x4[i + threads];
        float4 c = x4[i + 2 * threads];
        float4 d = x4[i + 3 * threads];
        sum += (sum_of(a) + sum_of(b)) + (sum_of(c) + sum_of(d));
    }
#pragma unroll 1
    for (; i < n4; i += threads)
        sum += sum_of(x4[i]);
    int tail = 4 * n4 + thread;
    if (tail < n)
        sum += x[tail];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd(out, sum);
}
