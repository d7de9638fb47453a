// scan_lookback: the inclusive prefix sum of n floats in one pass: x is read once, out is written once.
//
// Two blocks of each multiprocessor draw tiles until none is left. A block has four tiles in shared memory:
//
//     drawn in iteration    j        j - 1                           j - 2    j - 3
//     in iteration j        loads    is scanned, its sum published   waits    is stored
//
// So a sum is published two iterations before the block itself needs those of all tiles before. By then the others have
// published, too. One warp more, the scout, looks back: it adds what they have published.

#include <cuda_pipeline.h>

constexpr int THREADS = 256;  // without the scout's 32
constexpr int WARPS = THREADS / 32;
constexpr int PACKS = 6;      // float4s of a thread
constexpr int TILE_PACKS = THREADS * PACKS;
constexpr int TILE = TILE_PACKS * 4;
constexpr int MAX_TILES = ((1 << 26) + TILE - 1) / TILE;
constexpr int SLOTS = 4;
constexpr int BLOCKS = 2;     // of a multiprocessor: while one waits at a barrier, the other one works
constexpr int LOOKS = 10;     // words that a lane of the scout reads at once: for 2 · 132 tiles, and some more

// launch scan_lookback(x, out, n): grid=min(cdiv(n, TILE), BLOCKS * sm_count) block=THREADS + 32 shared=SLOTS * TILE * 4

// What a tile has published: in the upper half the number of the launch, from 1, in the lower half the bits of its sum.
// One store writes both, so nobody can see the one without the other, and no fence is needed. Words of earlier launches
// have smaller numbers: they count as nothing, and nobody has to clear them.
__device__ volatile unsigned long long published[MAX_TILES];

// The number of this launch, from 0, in the upper half, the next ticket in the lower half.
__device__ unsigned long long counter = 0;

// A ticket is the number of a tile. A block draws until it gets one that is no tile: tiles + gridDim.x draws in all.
// Waiting ends: take the lowest tile that has not published. Its block runs, because it has drawn the ticket. All that
// this block can wait for is before an older tile of its own, so it has been published.
__device__ unsigned long long draw_ticket(int tiles)
{
    unsigned long long drawn = tiles;
    drawn = atomicAdd(&counter, 1ull);

    // The last draw: the next launch begins with ticket 0 again, and has a higher number.
    unsigned int draws = tiles + gridDim.x;
    if ((unsigned int)drawn == draws - 1)
        atomicAdd(&counter, (1ull << 32) - draws);
    return drawn;
}

// The sum over lanes 0 to this one. All 32 lanes must take part.
__device__ float warp_scan(float v)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int s = 1; s < 32; s *= 2) {
        float left = __shfl_up_sync(0xffffffff, v, s);
        if (lane >= s)
            v += left;
    }
    return v;
}

// The sum over a warp, in all lanes.
__device__ float warp_sum(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    return v;
}

// Begins to copy a tile to shared memory. After the end of x come zeros.
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

// Stores a tile of running sums, and adds to each what is before the tile.
__device__ void store(const float4* slot, float before_tile, float* out, int tile, int n)
{
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        int pack = k * THREADS + threadIdx.x;
        int i = tile * TILE + pack * 4;
        float4 v = slot[pack];
        v = {v.x + before_tile, v.y + before_tile, v.z + before_tile, v.w + before_tile};
        if (i + 3 < n) {
            *reinterpret_cast<float4*>(out + i) = v;
        } else {
            if (i < n)
                out[i] = v.x;
            if (i + 1 < n)
                out[i + 1] = v.y;
            if (i + 2 < n)
                out[i + 2] = v.z;
        }
    }
}

// The sum of tiles `first` to `tile` - 1, in all lanes. The scout calls it.
__device__ float look_back(int first, int tile, unsigned int launch)
{
    float sum = 0.0f;
    for (; first < tile; first += 32 * LOOKS) {
        unsigned long long word[LOOKS];
        bool missing;
        do {
            // All words at once: the loads of a lane do not wait for each other. From `tile` on they are sums of 0.
            missing = false;
#pragma unroll
            for (int k = 0; k < LOOKS; ++k) {
                int other = first + 32 * k + threadIdx.x % 32;
                word[k] = other < tile ? published[other] : (unsigned long long)(launch + 1) << 32;
                missing |= word[k] >> 32 != launch + 1;
            }

            // Wait until all of these tiles have published: other numbers belong to earlier launches.
        } while (__any_sync(0xffffffff, missing));
#pragma unroll
        for (int k = 0; k < LOOKS; ++k)
            sum += __uint_as_float((unsigned int)word[k]);
    }
    return warp_sum(sum);
}

extern "C" __global__ void __launch_bounds__(THREADS + 32, BLOCKS) scan_lookback(const float* x, float* out, int n)
{
    extern __shared__ __align__(128) float4 slots[];  // SLOTS tiles; 128: a copy moves whole sectors to whole sectors
    __shared__ unsigned long long tickets[SLOTS];  // theirs
    __shared__ float warp_sums[WARPS];
    __shared__ float before_tile;
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    bool scout = warp == WARPS;
    int tiles = (n + TILE - 1) / TILE;

    // The scout knows the sum of all tiles before one that the block had before.
    float before = 0.0f;
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
        int scanned = (unsigned int)tickets[(j + 3) % SLOTS];
        int stored = (unsigned int)tickets[(j + 1) % SLOTS];
        unsigned int launch = tickets[j % SLOTS] >> 32;
        if (j >= 3 && stored >= tiles)
            break;

        float4* slot = slots + (j + 3) % SLOTS * TILE_PACKS + warp * (PACKS * 32) + lane;
        float4 v[PACKS];
        float before_pack[PACKS] = {};
        if (scout) {
            if (stored < tiles) {
                before += look_back(known, stored, launch);
                known = stored;
                if (lane == 0)
                    before_tile = before;
            }
        } else {
            if (loaded < tiles)
                load(slots + j % SLOTS * TILE_PACKS, x, loaded, n);
            __pipeline_commit();

            if (scanned < tiles) {
                // Each float4 becomes its running sums, the warp scans their totals, each pack adds those before it.
                float total = 0.0f;
#pragma unroll
                for (int k = 0; k < PACKS; ++k) {
                    v[k] = slot[k * 32];
                    v[k].y += v[k].x;
                    v[k].z += v[k].y;
                    v[k].w += v[k].z;
                    float up_to_here = warp_scan(v[k].w);
                    before_pack[k] = total + (up_to_here - v[k].w);
                    total += __shfl_sync(0xffffffff, up_to_here, 31);
                }
                if (lane == 0)
                    warp_sums[warp] = total;
            }
        }

        // Barrier: the sums of all warps are there, and what is before the tile that is stored.
        __syncthreads();

        if (scout) {
            if (scanned < tiles) {
                float sum = warp_sum(lane < WARPS ? warp_sums[lane] : 0.0f);
                if (lane == 0)
                    published[scanned] = (unsigned long long)(launch + 1) << 32 | __float_as_uint(sum);
            }

            // For the slot that is free after this iteration. Who has drawn all, draws no more.
            if (lane == 0)
                tickets[(j + 1) % SLOTS] = loaded < tiles ? draw_ticket(tiles) : tickets[j % SLOTS];
        } else {
            if (scanned < tiles) {
                float before_warp = warp_sum(lane < warp ? warp_sums[lane] : 0.0f);
#pragma unroll
                for (int k = 0; k < PACKS; ++k) {
                    float add = before_warp + before_pack[k];
                    slot[k * 32] = {v[k].x + add, v[k].y + add, v[k].z + add, v[k].w + add};
                }
            }
            if (stored < tiles)
                store(slots + (j + 1) % SLOTS * TILE_PACKS, before_tile, out, stored, n);
        }
    }
}
