// index_add: each row of the result is the sum of the rows of x that have its index.
//
#define THREADS 256
#define WARPS (THREADS / 32)

// scratch counts: int[rows + 1]
// scratch starts: int[rows]
// scratch ranks, numbers: int[n]
// zero counts
// launch draw_ranks(index, counts, ranks, n): grid=cdiv(n, THREADS) block=THREADS
// launch reserve(counts, starts, rows): grid=cdiv(rows, THREADS) block=THREADS
// launch place(index, ranks, starts, numbers, n): grid=cdiv(n, THREADS) block=THREADS
// launch sum_rows(x, counts, starts, numbers, out, rows): grid=cdiv(rows, WARPS) block=THREADS

// How many rows of x with the same index have come before this one.
extern "C" __global__ void draw_ranks(const int* index, int* counts, int* ranks, int n)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    // YOUR CODE: row i of x draws its rank by an atomic on a count.
}

// The sum of v over the threads before this one in the block; sum is that over all threads.
__device__ int before_in_block(int v, int& sum)
{
    __shared__ int words[WARPS];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, through = v;
#pragma unroll
    for (int s = 1; s < 32; s *= 2) {
        int other = __shfl_up_sync(0xffffffff, through, s);
        if (lane >= s)
            through += other;
    }
    if (lane == 31)
        words[warp] = through;

    // Barrier: all warps have stored their sums.
    __syncthreads();
    int before = through - v;
    sum = 0;
    for (int w = 0; w < WARPS; ++w) {
        before += w < warp ? words[w] : 0;
        sum += words[w];
    }
    return before;
}

// The rows of a block get places side by side. Which block comes first does not matter: no scan over all rows is needed.
extern "C" __global__ void __launch_bounds__(THREADS) reserve(int* counts, int* starts, int rows)
{
    int row = blockIdx.x * THREADS + threadIdx.x, sum;
    int before = before_in_block(row < rows ? counts[row] : 0, sum);

    // YOUR CODE: the block reserves `sum` places by one atomic on counts[rows]. Where do those of each row start?
}

extern "C" __global__ void place(const int* index, const int* ranks, const int* starts, int* numbers, int n)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    // YOUR CODE: number i goes to its place.
}

extern "C" __global__ void __launch_bounds__(THREADS)
sum_rows(const float4* x, const int* counts, const int* starts, const int* numbers, float4* out, int rows)
{
    // A row has 16 packs of four floats: half a warp takes every second row of x, each lane a pack.
    int lane = threadIdx.x % 32, half = lane / 16, pack = lane % 16;
    int row = blockIdx.x * WARPS + threadIdx.x / 32;

    // They leave as whole warps: no lane is missing in a shuffle.
    if (row >= rows)
        return;
    // YOUR CODE: this warp adds up counts[row] rows of x, whose numbers begin at starts[row], and stores the sum.
}
