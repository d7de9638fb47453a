// hgemm_wgmma_v2: C = A · B with a producer and consumers: TMA fills a ring of stages, wgmma empties it.
//
// All matrices are row-major; m, n and k are multiples of 16, and of no tile: what a copy reads outside of a matrix is
// zero.
//
// A block is three warpgroups of 128 threads, and has one tile of C. Warpgroup 0 is the producer: one thread of it starts
// all copies of A and B. Warpgroups 1 and 2 are the consumers: each multiplies 64 of the tile's 128 rows, and keeps the
// sums in registers.

// tensor_map a_tiles = A: shape=(m, k) box=(BM, BK) swizzle=128
// tensor_map b_tiles = B: shape=(k, n) box=(BK, BOX_N) swizzle=128
// launch hgemm_wgmma_v2(a_tiles, b_tiles, C, m, n, k): grid=cdiv(m, BM) * cdiv(n, BN) block=384 shared=SHARED_BYTES

#include "tma.cuh"    // mbarriers and TMA
#include "wgmma.cuh"  // wgmma and its descriptors

#define BM 128    // rows of a block's tile of C
#define BN 256    // its columns
#define BK 64     // steps along k in one stage: 64 halves are the 128 bytes of the swizzle
#define BOX_N 64  // columns of B in one copy, for the same reason
#define STAGES 4  // tiles of A and B that are on their way or in use
#define GROUP 16  // rows of tiles that are worked on together, so that the columns of B are found in L2

#define A_BYTES (BM * BK * 2)
#define BOX_BYTES (BK * BOX_N * 2)
#define STAGE_BYTES (A_BYTES + BN / BOX_N * BOX_BYTES)
#define SHARED_BYTES (1024 + STAGES * STAGE_BYTES)

static_assert(BM == 128, "two consumers, and the 64 rows of a wgmma for each");
static_assert(BN == 256, "a wgmma is 256 columns wide");
static_assert(BK == 64 && BOX_N == 64, "rows of 128 bytes in shared memory");

// ---------------------------------------------------------------------------------------------------------- the products

// Starts the products of one stage, 64 steps of k, as one group. 16 steps are 32 bytes of A's rows, and 16 rows of B.
// The first product of a tile, at step 0, does not add.
__device__ __forceinline__ void multiply(float (&d)[BN / 2], unsigned a, unsigned b, int step)
{
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < BK / 16; ++i)
        wgmma(d, descriptor(a + 32 * i, 0, 1024), descriptor(b + 2048 * i, BOX_BYTES, 1024), step + i);
    wgmma_commit();
}

// ------------------------------------------------------------------------------------------------------------- the tiles

// The first row and column of a tile. The blocks that run at the same time have GROUP rows of tiles, column by column: a
// region that is about as high as wide, for which the fewest rows of A and columns of B are fetched.
__device__ void place(int tile, int tile_rows, int tile_cols, int& row, int& col)
{
    int group = tile / (GROUP * tile_cols), at = tile % (GROUP * tile_cols);
    int height = min(GROUP, tile_rows - group * GROUP);
    row = (group * GROUP + at % height) * BM;
    col = at / height * BN;
}

// A warpgroup writes its 64 × 256 sums, whose first is C's element (row, col). Of every 8 columns a lane has 2 neighbours,
// in row lane / 4 of its warp's 16 rows and 8 rows below: 8 bytes a lane, and 4 lanes fill a sector.
__device__ __forceinline__ void store(float* C, const float (&d)[BN / 2], int row, int col, int m, int n)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    int r = row + 16 * warp + lane / 4, c = col + lane % 4 * 2;
    float* to = C + (size_t)r * n + c;
#pragma unroll
    for (int i = 0; i < BN / 8; ++i)
        if (c + 8 * i < n) {
            if (r < m)
                *(float2*)(to + 8 * i) = make_float2(d[4 * i], d[4 * i + 1]);
            if (r + 8 < m)
                *(float2*)(to + 8 * (size_t)n + 8 * i) = make_float2(d[4 * i + 2], d[4 * i + 3]);
        }
}

extern "C" __global__ void __launch_bounds__(384, 1)
hgemm_wgmma_v2(const __grid_constant__ CUtensorMap a_tiles, const __grid_constant__ CUtensorMap b_tiles, float* C, int m,
               int n, int k)
{
    // The swizzle goes by address and repeats every 1024 bytes: the tiles must begin on such a boundary.
    extern __shared__ unsigned char memory[];
    unsigned stages = (shared_address(memory) + 1023) / 1024 * 1024;

    // full: the copies of a stage have arrived. empty: nobody reads it any more.
    __shared__ unsigned long long full_barriers[STAGES], empty_barriers[STAGES];
    unsigned full = shared_address(full_barriers), empty = shared_address(empty_barriers);

    // The same for all lanes of a warp: the shuffle lets the compiler know.
    int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    int lane = threadIdx.x % 32;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            // YOUR CODE: how many arrivals end a phase of full, how many one of empty?
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // TMA must see them, too
    }
    __syncthreads();  // nobody may wait at a barrier before it exists

    int tile_rows = (m + BM - 1) / BM, tile_cols = (n + BN - 1) / BN;
    int steps = (k + BK - 1) / BK;
    int stage = 0, row, col;
    place(blockIdx.x, tile_rows, tile_cols, row, col);

    if (warpgroup == 0) {
        // YOUR CODE: the parity of the producer's first wait
        if (threadIdx.x == 0) {
            for (int step = 0; step < steps; ++step) {
                // YOUR CODE: wait until the stage is empty, announce its bytes, start its copies, go on to the next stage
            }
        }
    } else {
        float d[BN / 2];  // 64 × 256 sums, over 128 threads
        int parity = 0, before = 0;
        for (int step = 0; step < steps; ++step) {
            // YOUR CODE: wait until the stage is full; start its products
            // YOUR CODE: wait until at most this group still runs; which stage is empty now? Go on to the next one
        }
        wgmma_wait<0>();
        settle(d);
        store(C, d, row + 64 * (warpgroup - 1), col, m, n);
    }
}
