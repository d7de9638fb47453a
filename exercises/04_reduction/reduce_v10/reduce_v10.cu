// reduce_v10: the sum of n floats in one launch; the block that finishes last adds up the sums of all blocks.
//
// Blocks cannot wait for each other, but they can be counted: each draws a ticket when its sum is stored. The block
// with the last ticket knows that all other sums are there.

constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / 32;

// At most so many blocks: far more than fit at once, as reduce_v7 explains, but not too many for one counter.
#define BLOCKS 4096

// scratch sums: float[BLOCKS]
// launch reduce_v10(x, sums, out, n): grid=max(1, min(n / (16 * THREADS), BLOCKS)) block=THREADS

// Tickets drawn so far in this launch. The last one sets the count back to 0, for the launch after this.
__device__ unsigned int tickets = 0;

// The sum over a warp, right in lane 0. All 32 lanes must take part.
__device__ float warp_sum(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_down_sync(0xffffffff, v, s);
    return v;
}

// The sum over the block, right in thread 0.
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

// Stores the block's sum and draws a ticket: 0 for the block that is first, gridDim.x - 1 for the last. Thread 0 only.
__device__ unsigned int draw_ticket(float* sums, float sum)
{
    unsigned int ticket = 0;
    sums[blockIdx.x] = sum;

    // YOUR CODE: draw a ticket, in such a way that its drawing cannot be seen before the sum.

    return ticket;
}

__device__ float sum_of(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

// 2 blocks of 1024 threads fill a multiprocessor if a thread keeps to 32 registers: the bound says so to the compiler.
extern "C" __global__ void __launch_bounds__(THREADS, 2) reduce_v10(const float* x, float* sums, float* out, int n)
{
    int thread = blockIdx.x * THREADS + threadIdx.x;
    int threads = gridDim.x * THREADS;

    const float4* x4 = reinterpret_cast<const float4*>(x);
    int n4 = n / 4;
    int i = thread;
    float sum = 0.0f;

    // Four loads that do not wait for each other, as in reduce_v8.
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

    // The last one to three elements.
    int tail = 4 * n4 + thread;
    if (tail < n)
        sum += x[tail];

    sum = block_sum(sum);
    __shared__ bool last;
    if (threadIdx.x == 0)
        last = draw_ticket(sums, sum) == gridDim.x - 1;

    // Barrier: all threads learn what thread 0 has found out, and what its fences have made visible. It also keeps the
    // words of the second block_sum() apart from those of the first.
    __syncthreads();
    if (!last)
        return;

    // One block is left, and all sums are stored. It adds them in the order of their index, whichever block it is: the
    // result has the same bits in every run.
    sum = 0.0f;
    // YOUR CODE: add up the sums of all blocks, with all threads of this one.

    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *out = sum;
}
