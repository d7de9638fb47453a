// dot_half2: the dot product of two vectors of halves, products and sums in fp32.
//
// A thread loads eight halves of each vector at once. A half2 becomes a float2 in one step; the product of two halves is
// exact in fp32.

#include <cuda_fp16.h>

constexpr int THREADS = 512;
constexpr int WARPS = THREADS / 32;

// At most so many blocks, as in reduce_v10.
#define BLOCKS 4096

// scratch sums: float[BLOCKS]
// launch dot_half2(x, y, sums, out, n): grid=max(1, min(n / (16 * THREADS), BLOCKS)) block=THREADS

// Tickets drawn so far in this launch. The last one sets the count back to 0, for the launch after this.
__device__ unsigned int tickets = 0;

// Two products of halves, added to the sum in fp32.
__device__ float add_pair(unsigned int x, unsigned int y, float sum)
{
    float2 a = __half22float2(reinterpret_cast<const __half2&>(x));
    float2 b = __half22float2(reinterpret_cast<const __half2&>(y));
    sum = fmaf(a.x, b.x, sum);
    sum = fmaf(a.y, b.y, sum);
    return sum;
}

__device__ float add_eight(uint4 x, uint4 y, float sum)
{
    sum = add_pair(x.x, y.x, sum);
    sum = add_pair(x.y, y.y, sum);
    sum = add_pair(x.z, y.z, sum);
    return add_pair(x.w, y.w, sum);
}

// The sum over a warp, in all lanes.
__device__ float warp_sum(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    return v;
}

// The sum over the block, right in the first warp.
__device__ float block_sum(float v)
{
    __shared__ float warp_sums[WARPS];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    v = warp_sum(v);
    if (lane == 0)
        warp_sums[warp] = v;

    // Barrier: the first warp reads the words of all warps.
    __syncthreads();
    if (warp == 0)
        v = warp_sum(lane < WARPS ? warp_sums[lane] : 0.0f);
    return v;
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
    dot_half2(const __half* x, const __half* y, float* sums, float* out, int n)
{
    int thread = blockIdx.x * THREADS + threadIdx.x;
    int threads = gridDim.x * THREADS;
    const uint4* x8 = reinterpret_cast<const uint4*>(x);
    const uint4* y8 = reinterpret_cast<const uint4*>(y);
    int n8 = n / 8;
    int i = thread;
    float sum = 0.0f;

    // Two loads of each vector, which do not wait for each other, and a sum for each.
    float second = 0.0f;
    for (; i + threads < n8; i += 2 * threads) {
        uint4 a = x8[i];
        uint4 b = y8[i];
        uint4 c = x8[i + threads];
        uint4 d = y8[i + threads];
        sum = add_eight(a, b, sum);
        second = add_eight(c, d, second);
    }
    if (i < n8)
        sum = add_eight(x8[i], y8[i], sum);
    sum += second;

    // The last one to seven elements.
    int tail = 8 * n8 + thread;
    if (tail < n)
        sum = fmaf(__half2float(x[tail]), __half2float(y[tail]), sum);

    sum = block_sum(sum);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;

        // Fence: whoever sees the ticket drawn sees the sum stored. The second one: no sum is read before the draw.
        __threadfence();
        last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }

    // Barrier: all threads learn who is last, and the second block_sum() does not touch the words of the first.
    __syncthreads();
    if (!last)
        return;

    // In the order of the index, so that the result has the same bits in each run.
    sum = 0.0f;
    for (int k = threadIdx.x; k < gridDim.x; k += THREADS)
        sum += sums[k];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *out = sum;
}
