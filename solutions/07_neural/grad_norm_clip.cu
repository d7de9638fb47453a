// grad_norm_clip: the norm of a gradient, and the gradient made shorter where the norm is above a limit.
//
// No element can be scaled before all are squared: two launches. The first gives each block a piece, and the block that
// finishes last has the norm. The second begins at the end, which the first has read last and which is still in the L2.

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

// The sum of four squares. A double holds the square of every float: none overflows, and none is lost below 1e-38.
__device__ double squares_of(float4 v)
{
    double x = v.x, y = v.y, z = v.z, w = v.w;
    return (x * x + y * y) + (z * z + w * w);
}

extern "C" __global__ void __launch_bounds__(THREADS) square_and_sum(const float4* g, double* sums, float* norm, int n)
{
    int first = blockIdx.x * (PIECE / 4) + threadIdx.x;
    double sum = 0.0;
    // Four loads that do not wait for each other.
    for (int k = 0; k < PACKS; k += 4) {
        float4 pack[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            int i = first + (k + j) * THREADS;
            pack[j] = i < n / 4 ? g[i] : float4{0.0f, 0.0f, 0.0f, 0.0f};
        }
#pragma unroll
        for (int j = 0; j < 4; ++j)
            sum += squares_of(pack[j]);
    }

    sum = block_sum(sum);
    __shared__ bool last;
    if (threadIdx.x == 0)
        last = is_last(sums, sum);

    // Barrier: all threads learn what thread 0 has found out.
    __syncthreads();
    if (!last)
        return;

    // In the order of their index, whichever block does it: the norm has the same bits in every run.
    sum = 0.0;
    for (int k = threadIdx.x; k < gridDim.x; k += THREADS)
        sum += sums[k];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *norm = (float)sqrt(sum);
}

extern "C" __global__ void __launch_bounds__(THREADS)
clip(const float4* g, const float* norm, float4* out, int n, float max_norm)
{
    // The last block of packs comes first: the launch before has read it last.
    int i = (gridDim.x - 1 - blockIdx.x) * THREADS + threadIdx.x;
    if (i >= n / 4)
        return;
    float4 pack = g[i];

    // A comparison with NaN is false: a NaN stays one. fminf would make it 1.
    float scale = max_norm / (*norm + 1e-6f);
    if (scale > 1.0f)
        scale = 1.0f;

    pack.x *= scale;
    pack.y *= scale;
    pack.z *= scale;
    pack.w *= scale;

    // Nobody reads the result soon: its lines are the first to leave the L2, and the gradient's stay.
    __stcs(out + i, pack);
}
