// compaction: the elements above 0 of x, in their order, without gaps: one pass over x, with a look-back.
//
// Blocks, tickets, slots and scout are those of scan_lookback; what a tile publishes is how many elements it keeps:
//
//     drawn in iteration    j        j - 1                           j - 2    j - 3
//     in iteration j        loads    is counted, its count published  waits    is stored
//
// When a tile has been counted, its elements are put side by side in its slot: neighbouring lanes store to neighbouring
// places later.

#include <cuda_pipeline.h>

constexpr int THREADS = 256;  // without the scout's 32
constexpr int WARPS = THREADS / 32;
constexpr int PACKS = 6;      // float4s of a thread; a byte of a word of 64 bits for each
constexpr int TILE_PACKS = THREADS * PACKS;
constexpr int TILE = TILE_PACKS * 4;
constexpr int MAX_TILES = ((1 << 26) + TILE - 1) / TILE;
constexpr int SLOTS = 4;
constexpr int BLOCKS = 2;     // of a multiprocessor
constexpr int LOOKS = 10;     // words that a lane of the scout reads at once: for 2 · 132 tiles, and some more

// launch compaction(x, out, count, n): grid=min(cdiv(n, TILE), BLOCKS * sm_count) block=THREADS + 32 shared=SLOTS * TILE * 4

typedef unsigned long long Word;

// As in scan_lookback: the number of the launch, from 1, above, a number of elements below.
__device__ volatile Word published[MAX_TILES];

// The number of this launch, from 0, in the upper half, the next ticket in the lower half.
__device__ Word counter = 0;

__device__ Word draw_ticket(int tiles)
{
    Word drawn = atomicAdd(&counter, 1ull);
    unsigned int draws = tiles + gridDim.x;
    if ((unsigned int)drawn == draws - 1)
        atomicAdd(&counter, (1ull << 32) - draws);
    return drawn;
}

// The sum over lanes 0 to this one. All 32 lanes must take part.
template <typename T>
__device__ T warp_scan(T v)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int s = 1; s < 32; s *= 2) {
        T left = __shfl_up_sync(0xffffffff, v, s);
        if (lane >= s)
            v += left;
    }
    return v;
}

// The sum over a warp, in all lanes.
__device__ unsigned int warp_sum(unsigned int v) { return __reduce_add_sync(0xffffffff, v); }

// Begins to copy a tile to shared memory. After the end of x come zeros, which are not kept.
__device__ void load(float4* slot, const float* x, int tile, int n)
{
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        int pack = k * THREADS + threadIdx.x;
        int i = tile * TILE + pack * 4;
        int inside = max(0, min(4, n - i));
        __pipeline_memcpy_async(slot + pack, x + (inside > 0 ? i : 0), 16, 16 - 4 * inside);
    }
}

// What tiles `first` to `tile` - 1 keep, in all lanes. The scout calls it.
__device__ unsigned int look_back(int first, int tile, unsigned int launch)
{
    unsigned int sum = 0;

    // YOUR CODE: as in scan_lookback.

    return warp_sum(sum);
}

extern "C" __global__ void __launch_bounds__(THREADS + 32, BLOCKS)
compaction(const float* x, float* out, int* count, int n)
{
    extern __shared__ __align__(128) float slots[];  // SLOTS tiles
    __shared__ Word tickets[SLOTS];                  // theirs
    __shared__ unsigned int kept_of[SLOTS];          // how many elements they keep
    __shared__ unsigned int warp_counts[WARPS];
    __shared__ unsigned int before_tile;
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    bool scout = warp == WARPS;
    int tiles = (n + TILE - 1) / TILE;

    // The scout knows what all tiles before one that the block had before keep.
    unsigned int before = 0;
    int known = 0;
    if (scout && lane < SLOTS)
        tickets[lane] = lane == 0 ? draw_ticket(tiles) : tiles;

    for (int j = 0;; ++j) {
        // What this thread has copied of the youngest tile is there.
        __pipeline_wait_prior(0);

        // Barrier: all of that tile is there, and a ticket for the next one. The slot of the tile that was stored last is
        // free: nobody reads it any more.
        __syncthreads();
        int loaded = (unsigned int)tickets[j % SLOTS];
        int counted = (unsigned int)tickets[(j + 3) % SLOTS];
        int stored = (unsigned int)tickets[(j + 1) % SLOTS];
        unsigned int launch = tickets[j % SLOTS] >> 32;
        if (j >= 3 && stored >= tiles)
            break;

        float* slot = slots + (j + 3) % SLOTS * TILE;
        float4 v[PACKS];
        Word counts = 0, scanned = 0, totals = 0;
        if (scout) {
            if (stored < tiles) {
                before += look_back(known, stored, launch);
                known = stored;
                if (lane == 0)
                    before_tile = before;
            }
        } else {
            if (loaded < tiles)
                load(reinterpret_cast<float4*>(slots + j % SLOTS * TILE), x, loaded, n);
            __pipeline_commit();

            if (counted < tiles) {
#pragma unroll
                for (int k = 0; k < PACKS; ++k) {
                    v[k] = reinterpret_cast<float4*>(slot)[(warp * PACKS + k) * 32 + lane];
                }

                // YOUR CODE: what this lane keeps of each float4, all in one word.

                scanned = warp_scan(counts);
                totals = __shfl_sync(0xffffffff, scanned, 31);
                unsigned int kept = 0;
#pragma unroll
                for (int k = 0; k < PACKS; ++k)
                    kept += totals >> 8 * k & 255;
                if (lane == 0)
                    warp_counts[warp] = kept;
            }
        }

        // Barrier: the counts of all warps are there, and what is before the tile that is stored. All elements of the
        // counted tile are in registers.
        __syncthreads();

        if (scout) {
            if (counted < tiles) {
                unsigned int kept = warp_sum(lane < WARPS ? warp_counts[lane] : 0);
                if (lane == 0) {
                    published[counted] = (Word)(launch + 1) << 32 | kept;
                    kept_of[(j + 3) % SLOTS] = kept;
                }
            }

            // For the slot that is free after this iteration. Who has drawn all, draws no more.
            if (lane == 0)
                tickets[(j + 1) % SLOTS] = loaded < tiles ? draw_ticket(tiles) : tickets[j % SLOTS];
        } else {
            if (counted < tiles) {
                // Each element to its place: after all float4s before, and after the lanes before in its own.
                unsigned int place = warp_sum(lane < warp ? warp_counts[lane] : 0);

                // YOUR CODE: each element to its place in the tile.

            }
            if (stored < tiles) {
                const float* kept = slots + (j + 1) % SLOTS * TILE;
                unsigned int many = kept_of[(j + 1) % SLOTS];
                for (int p = threadIdx.x; p < many; p += THREADS)
                    out[before_tile + p] = kept[p];
                if (threadIdx.x == 0 && stored == tiles - 1)
                    *count = before_tile + many;
            }
        }
    }
}
