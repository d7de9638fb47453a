// expect: sim=technique
// A histogram for each block, and an atomic for each key: lanes with equal keys wait for each other.

// histogram: how often each of 256 keys occurs among n.
//
// Every lane has a column of 256 counters of its own, a byte each: no atomics, and no two lanes in the same bank. A byte
// holds 255, so a warp adds up its 32 columns before any of them can overflow.

#define WARPS 4
#define THREADS (32 * WARPS)
#define KEYS 16               // of a thread in a round: four int4
#define TILE (KEYS * THREADS) // keys of a block in a round
#define ROUNDS 15             // between two additions: 15 * 16 = 240 keys, at most 255

// zero counts
// launch histogram(x, counts, n): grid=min(cdiv(n, 32 * TILE), 6 * sm_count) block=THREADS

extern "C" __global__ void __launch_bounds__(THREADS) histogram(const int* x, int* counts, int n)
{
    __shared__ unsigned int columns[WARPS][64 * 32];
    __shared__ unsigned int sums[256];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int totals[8] = {};

    for (int b = threadIdx.x; b < 256; b += THREADS)
        sums[b] = 0;

    __syncthreads();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        atomicAdd(&sums[x[i]], 1u);

    __syncthreads();  // all sums are zero
#pragma unroll
    for (int k = 0; k < 8; ++k)
        atomicAdd(&sums[k % 4 * 64 + k / 4 * 32 + lane], totals[k]);
    __syncthreads();  // all warps have added

    // One atomic for each key and block, whatever n is.
    for (int b = threadIdx.x; b < 256; b += THREADS)
        if (sums[b])
            atomicAdd(&counts[b], (int)sums[b]);
}
