// hgemm_wgmma_v3: C = A · B with blocks that stay: they take tile after tile, and write one while the next is fetched.
//
// All matrices are row-major; m, n and k are multiples of 16, and of no tile: what a copy reads outside of a matrix is
// zero, and what it writes there is dropped.
//
// A block is three warpgroups of 128 threads. Warpgroup 0 is the producer: one thread of it starts all copies of A and
// B. Warpgroups 1 and 2 are the consumers: each multiplies 64 of the tile's 128 rows, and keeps the sums in registers.

// tensor_map a_tiles = A: shape=(m, k) box=(BM, BK) swizzle=128
// tensor_map b_tiles = B: shape=(k, n) box=(BK, BOX_N) swizzle=128
// tensor_map c_tiles = C: shape=(m, n) box=(64, OUT_N) swizzle=128
// launch hgemm_wgmma_v3(a_tiles, b_tiles, c_tiles, m, n, k): grid=cdiv(cdiv(m, BM) * cdiv(n, BN), cdiv(cdiv(m, BM) * cdiv(n, BN), sm_count)) block=384 shared=SHARED_BYTES

#include "tma.cuh"    // mbarriers and TMA
#include "wgmma.cuh"  // wgmma and its descriptors

#define BM 128    // rows of a block's tile of C
#define BN 256    // its columns
#define BK 64     // steps along k in one stage: 64 halves are the 128 bytes of the swizzle
#define BOX_N 64  // columns of B in one copy, for the same reason
#define OUT_N 32  // columns of C in one copy: 32 floats are 128 bytes, too
#define STAGES 4  // tiles of A and B that are on their way or in use
#define GROUP 16  // rows of tiles that are worked on together, so that the columns of B are found in L2

#define A_BYTES (BM * BK * 2)
#define BOX_BYTES (BK * BOX_N * 2)
#define STAGE_BYTES (A_BYTES + BN / BOX_N * BOX_BYTES)
#define OUT_BYTES (64 * OUT_N * 4)
#define SHARED_BYTES (1024 + STAGES * STAGE_BYTES + 4 * OUT_BYTES)

static_assert(BM == 128, "two consumers, and the 64 rows of a wgmma for each");
static_assert(BN == 256, "a wgmma is 256 columns wide");
static_assert(BK == 64 && BOX_N == 64 && OUT_N == 32, "rows of 128 bytes in shared memory");

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

// The first row and column of a tile. The blocks that run at the same time take GROUP rows of tiles, column by column: a
// region that is about as high as wide, for which the fewest rows of A and columns of B are fetched.
__device__ void place(int tile, int tile_rows, int tile_cols, int& row, int& col)
{
    int group = tile / (GROUP * tile_cols), at = tile % (GROUP * tile_cols);
    int height = min(GROUP, tile_rows - group * GROUP);
    row = (group * GROUP + at % height) * BM;
    col = at / height * BN;
}

// A consumer writes its 64 × 256 sums, OUT_N columns at a time, through two buffers in shared memory: while TMA empties
// one, the other is filled.
__device__ __forceinline__ void store(unsigned buffers, const CUtensorMap* map, const float (&d)[BN / 2], int row, int col)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    int consumer = threadIdx.x / 128;  // 1 or 2: the number of its own barrier for 128 threads
    bool leader = threadIdx.x % 128 == 0;
#pragma unroll
    for (int part = 0; part < BN / OUT_N; ++part) {
        unsigned buffer = buffers + part % 2 * OUT_BYTES;
        if (leader)
            store_wait<1>();  // the copy before last has read this buffer
        asm volatile("bar.sync %0, 128;" ::"r"(consumer) : "memory");

        // Of every 8 columns a lane has 2 neighbours, in row lane / 4 of its warp's 16 rows and 8 rows below. The map
        // says that the buffer is swizzled: piece p of 16 bytes of row r lies at place p ^ r % 8.
#pragma unroll
        for (int i = 0; i < OUT_N / 4; ++i) {
            int r = 16 * warp + 8 * (i % 2) + lane / 4;
            int piece = i / 2 * 2 + lane % 4 / 2;
            unsigned to = buffer + 128 * r + 16 * (piece ^ r % 8) + 8 * (lane % 2);
            const float* two = d + part * (OUT_N / 2) + 2 * i;
            asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(two[0]), "f"(two[1]) : "memory");
        }

        // Every thread lets TMA see what it has written; then one starts the copy.
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(consumer) : "memory");
        if (leader)
            store_box(buffer, map, row, col + part * OUT_N);
    }
}

extern "C" __global__ void __launch_bounds__(384, 1)
hgemm_wgmma_v3(const __grid_constant__ CUtensorMap a_tiles, const __grid_constant__ CUtensorMap b_tiles,
            const __grid_constant__ CUtensorMap c_tiles, int m, int n, int k)
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
            barrier_init(full + 8 * i, 1);   // the producer, besides the bytes
            barrier_init(empty + 8 * i, 8);  // the 8 warps of the consumers
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // TMA must see them, too
    }
    __syncthreads();  // nobody may wait at a barrier before it exists

    int tile_rows = (m + BM - 1) / BM, tile_cols = (n + BN - 1) / BN;
    int steps = (k + BK - 1) / BK;
    int stage = 0, row = 0, col = 0;

    if (warpgroup == 0) {
        // Starting copies takes few registers: the consumers get what is left over.
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        int parity = 1;  // the first time round, all stages are empty
        if (threadIdx.x == 0) {
            for (int tile = blockIdx.x; tile < tile_rows * tile_cols; tile += gridDim.x) {
                place(tile, tile_rows, tile_cols, row, col);
                for (int step = 0; step < steps; ++step) {
                    unsigned a = stages + stage * STAGE_BYTES, b = a + A_BYTES, arrived = full + 8 * stage;
                    barrier_wait(empty + 8 * stage, parity);
                    barrier_expect(arrived, STAGE_BYTES);
                    load_box(a, &a_tiles, row, step * BK, arrived);
                    for (int i = 0; i < BN / BOX_N; ++i)
                        load_box(b + i * BOX_BYTES, &b_tiles, step * BK, col + i * BOX_N, arrived);
                    stage = (stage + 1) % STAGES;
                    parity ^= stage == 0;
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[BN / 2];  // 64 × 256 sums, over 128 threads
        int parity = 0;
        for (int tile = blockIdx.x; tile < tile_rows * tile_cols; tile += gridDim.x) {
            place(tile, tile_rows, tile_cols, row, col);
            row += 64 * (warpgroup - 1);
            int before = 0;
            for (int step = 0; step < steps; ++step) {
                unsigned a = stages + stage * STAGE_BYTES + 64 * BK * 2 * (warpgroup - 1);
                unsigned b = stages + stage * STAGE_BYTES + A_BYTES;
                barrier_wait(full + 8 * stage, parity);
                multiply(d, a, b, step);

                // This step's group may go on while the next one is started. The step before is done: its stage is
                // empty. One lane says so for its warp.
                wgmma_wait<1>();
                if (step > 0 && lane == 0)
                    barrier_arrive(empty + 8 * before);
                before = stage;
                stage = (stage + 1) % STAGES;
                parity ^= stage == 0;
            }
            wgmma_wait<0>();
            settle(d);
            if (lane == 0)
                barrier_arrive(empty + 8 * before);

            // The producer does not wait for this: the next tile's first stages are filled in the meantime.
            store(stages + STAGES * STAGE_BYTES + 2 * OUT_BYTES * (warpgroup - 1), &c_tiles, d, row, col);
        }
        store_wait<0>();  // shared memory has to last until TMA has read it; only leaders have copies
    }
}
