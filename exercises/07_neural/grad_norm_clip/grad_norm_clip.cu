// grad_norm_clip: the norm of a gradient, and the gradient made shorter where the norm is above a limit.

#define THREADS 256
#define WARPS (THREADS / 32)
#define PACKS 16  // packs of four floats that a thread squares
#define PIECE (4 * PACKS * THREADS)

// scratch sums: double[cdiv(n, PIECE)]
// launch square_and_sum(g, sums, norm, n): grid=cdiv(n, PIECE) block=THREADS
// launch clip(g, norm, out, n, max_norm): grid=cdiv(n, 4*THREADS) block=THREADS

// Tickets drawn so far in this launch. The last one sets the count back to 0.
__device__ unsigned int tickets = 0;

// The sum over the block, right in thread 0.
__device__ double block_sum(double v)
{
    __shared__ double words[WARPS];
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_down_sync(0xffffffff, v, s);

    // Barrier: the words of an earlier call have been read.
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        words[threadIdx.x / 32] = v;

    // Barrier: all warps have stored their words.
    __syncthreads();
    v = 0.0;
    if (threadIdx.x == 0)
        for (int w = 0; w < WARPS; ++w)
            v += words[w];
    return v;
}

// Stores the block's sum; true if it is the last block, so that all sums are there. Thread 0 only.
__device__ bool is_last(double* sums, double sum)
{
    sums[blockIdx.x] = sum;

    // Fence: whoever sees this ticket drawn sees the sum stored.
    __threadfence();
    bool last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;

    // Fence: no sum of another block is read before this ticket has been drawn.
    __threadfence();
    return last;
}

extern "C" __global__ void __launch_bounds__(THREADS) square_and_sum(const float4* g, double* sums, float* norm, int n)
{
    int first = blockIdx.x * (PIECE / 4) + threadIdx.x;
    double sum = 0.0;
    // YOUR CODE: thread t adds up the squares of packs first, first + THREADS, ...: PACKS of them, or up to the end.

    sum = block_sum(sum);
    __shared__ bool last;
    if (threadIdx.x == 0)
        last = is_last(sums, sum);

    // Barrier: all threads learn what thread 0 has found out.
    __syncthreads();
    if (!last)
        return;

    // YOUR CODE: this block adds up all sums, and stores the norm.
}

extern "C" __global__ void __launch_bounds__(THREADS)
clip(const float4* g, const float* norm, float4* out, int n, float max_norm)
{
    // YOUR CODE: the scale, and one pack for each thread. Which packs of g are still in the L2?
}
