// index_add: each row of the result is the sum of the rows of x that have its index.
//
// No float is added by an atomic. A counting sort puts the numbers of the rows in the order of their indices: each row of
// x draws a rank, each row of the result reserves places, and each number goes to its place. Then a warp takes a row of
// the result, reads its rows of x, and stores once.

#define THREADS 256
#define WARPS (THREADS / 32)
#define BATCH 4  // loads of a lane that do not wait for each other: 8 rows of x in flight for a warp

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
    if (i < n)
        ranks[i] = atomicAdd(&counts[index[i]], 1);
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

    // counts[rows] is the first place that is free.
    __shared__ int first;
    if (threadIdx.x == 0)
        first = atomicAdd(&counts[rows], sum);

    // Barrier: all threads learn what thread 0 has reserved.
    __syncthreads();
    if (row < rows)
        starts[row] = first + before;
}

extern "C" __global__ void place(const int* index, const int* ranks, const int* starts, int* numbers, int n)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        numbers[starts[index[i]] + ranks[i]] = i;
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
    const int* mine = numbers + starts[row];
    int count = counts[row];
    float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k = 0; k < count; k += 32) {
        // 32 numbers in one request; -1 is none.
        int number = k + lane < count ? mine[k + lane] : -1;
        for (int j = 0; j < min(32, count - k); j += 2 * BATCH) {
            float4 v[BATCH];
#pragma unroll
            for (int b = 0; b < BATCH; ++b) {
                int i = __shfl_sync(0xffffffff, number, j + 2 * b + half);
                v[b] = i >= 0 ? __ldcs(x + (size_t)i * 16 + pack) : float4{0.0f, 0.0f, 0.0f, 0.0f};
            }
#pragma unroll
            for (int b = 0; b < BATCH; ++b) {
                sum.x += v[b].x;
                sum.y += v[b].y;
                sum.z += v[b].z;
                sum.w += v[b].w;
            }
        }
    }

    // The other half of the warp has the other rows of x.
    sum.x += __shfl_xor_sync(0xffffffff, sum.x, 16);
    sum.y += __shfl_xor_sync(0xffffffff, sum.y, 16);
    sum.z += __shfl_xor_sync(0xffffffff, sum.z, 16);
    sum.w += __shfl_xor_sync(0xffffffff, sum.w, 16);
    if (half == 0)
        out[(size_t)row * 16 + pack] = sum;
}
