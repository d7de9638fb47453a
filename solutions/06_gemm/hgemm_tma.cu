// hgemm_tma: C = A · B with the products of hgemm_mma. One thread copies whole tiles by TMA, and mbarriers say when a
// tile is there and when its stage may be filled again: no thread computes an address of a copy, and no barrier of the
// block stands in the loop.
//
// All matrices are row-major; m, n and k are multiples of 16, but not of the block's tiles.

#define BM 256    // a block computes BM × BN elements of C
#define BN 128
#define BK 64     // and goes along k in steps of BK: 64 halves are the 128 bytes of the swizzle
#define BOX_N 64  // columns of B in one copy, for the same reason
#define WM 64     // each of its warps computes WM × WN elements
#define WN 64
#define STAGES 3  // steps whose tiles are in shared memory, or on their way there
#define WARPS ((BM / WM) * (BN / WN))
#define STAGE_BYTES ((BM + BN) * BK * 2)  // a tile of A and a tile of B
#define SHARED_BYTES (1024 + STAGES * STAGE_BYTES)

// tensor_map a_tiles = A: shape=(m, k) box=(BM, BK) swizzle=128
// tensor_map b_tiles = B: shape=(k, n) box=(BK, BOX_N) swizzle=128
// launch hgemm_tma(a_tiles, b_tiles, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=32*WARPS shared=SHARED_BYTES

#include <cuda_fp16.h>

#include "tma.cuh"  // mbarriers and TMA

#define CHUNK 8  // halves in 16 bytes: one row of a block of ldmatrix
#define THREADS (32 * WARPS)
#define A_BYTES (BM * BK * 2)     // after them, B's boxes begin
#define BOX_BYTES (BK * BOX_N * 2)
#define PARTS (BK / 16)           // a step is multiplied in parts of 16 along k, the depth of one product

static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && BOX_N % WN == 0, "whole fragments, whole warps' tiles");
static_assert(BK == 64 && BOX_N == 64, "rows of 128 bytes in shared memory");
static_assert(BM <= 256, "no box has a longer side");
static_assert(PARTS % 2 == 0, "two sets of fragments take turns: each step begins with the same one");

// ---- fragments and products ----

// Loads four blocks of 8 × 8 halves. Lane 8 * i + r gives the address of row r of block i, 16 bytes.
__device__ void ldmatrix_x4(unsigned (&to)[4], unsigned row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

// The same, and transposes each block on the way.
__device__ void ldmatrix_x4_trans(unsigned (&to)[4], unsigned row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

// sum += a · b for a of 16 × 16, b of 16 × 8 (b0 is its upper half, b1 the lower) and sum of 16 × 8 elements.
__device__ void mma_16816(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Byte at which chunk c of row r lies in a box whose rows are 128 bytes: TMA exchanges the chunks of a row like this,
// because the maps say so. It is the exchange of hgemm_mma: eight rows' chunks c lie in eight groups of four banks.
__device__ unsigned place(int r, int c) { return r * 128 + (c ^ (r & 7)) * 16; }

extern "C" __global__ void __launch_bounds__(THREADS)
hgemm_tma(const __grid_constant__ CUtensorMap a_tiles, const __grid_constant__ CUtensorMap b_tiles, float* C, int m,
          int n, int k)
{
    // STAGES times a tile of A and, after it, the boxes of B: a ring. The swizzle goes by address and repeats every 1024
    // bytes: the tiles must begin on such a boundary.
    extern __shared__ unsigned char memory[];
    unsigned stages = ((unsigned)__cvta_generic_to_shared(memory) + 1023) / 1024 * 1024;

    // full: the copies of a stage have arrived. empty: no warp reads it any more.
    __shared__ unsigned long long full_barriers[STAGES], empty_barriers[STAGES];
    unsigned full = __cvta_generic_to_shared(full_barriers), empty = __cvta_generic_to_shared(empty_barriers);

    int row = blockIdx.y * BM, col = blockIdx.x * BN;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    int steps = (k + BK - 1) / BK;

    // Promises a step's bytes and starts its copies: the tile of A is one box, that of B two, side by side.
    auto copy_step = [&](int step, int stage) {
        unsigned tile = stages + stage * STAGE_BYTES, arrived = full + 8 * stage;
        barrier_expect(arrived, STAGE_BYTES);
        load_box(tile, &a_tiles, row, step * BK, arrived);
        for (int i = 0; i < BN / BOX_N; ++i)
            load_box(tile + A_BYTES + i * BOX_BYTES, &b_tiles, step * BK, col + i * BOX_N, arrived);
    };

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(full + 8 * i, 1);       // the promise, besides the bytes
            barrier_init(empty + 8 * i, WARPS);  // one lane of each warp
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // TMA must see them, too
        for (int step = 0; step < min(STAGES, steps); ++step)
            copy_step(step, step);
    }
    __syncthreads();  // nobody may wait at a barrier before it exists

    // Where a lane's rows of the fragments lie in a stage, computed once. Four blocks are 16 × 16 elements: lanes 0 … 15
    // give the left chunks of 16 rows, lanes 16 … 31 the right ones. A warp's columns of B are in one box.
    int r = lane % 16, c = lane / 16;
    unsigned a_at[PARTS], b_at[WN / 16];
#pragma unroll
    for (int part = 0; part < PARTS; ++part)
        a_at[part] = place(warp_row + r, part * 16 / CHUNK + c);
#pragma unroll
    for (int j = 0; j < WN / 16; ++j)
        b_at[j] = A_BYTES + warp_col / BOX_N * BOX_BYTES + place(r, (warp_col % BOX_N + j * 16) / CHUNK + c);

    // Loads what a warp needs for a part: WM × 16 elements of A and 16 × WN of B. There are two sets of fragments, for
    // even parts and for odd ones: the next one is loaded while this one is multiplied.
    unsigned a[2][WM / 16][4], b[2][WN / 16][4];
    auto load_fragments = [&](int stage, int part) {
        unsigned tile = stages + stage * STAGE_BYTES;
#pragma unroll
        for (int i = 0; i < WM / 16; ++i)
            ldmatrix_x4(a[part % 2][i], tile + a_at[part] + i * 16 * 128);
#pragma unroll
        for (int j = 0; j < WN / 16; ++j)
            ldmatrix_x4_trans(b[part % 2][j], tile + b_at[j] + part * 16 * 128);
    };

    float sum[WM / 16][WN / 8][4] = {};
    int stage = 0, parity = 0;          // of the step that is multiplied
    int before = 0, parity_before = 0;  // of the step before it, whose stage is filled again

    barrier_wait(full, 0);
    load_fragments(0, 0);

#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        int next = (stage + 1) % STAGES, next_parity = parity ^ (next == 0);
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            if (part < PARTS - 1) {
                load_fragments(stage, part + 1);
            } else {
                // The last fragments of this step are in registers: one lane says so for its warp. Then come the first
                // ones of the next step, as soon as its bytes are there. A warp waits for nobody else here.
                if (lane == 0)
                    barrier_arrive(empty + 8 * stage);
                if (step + 1 < steps) {
                    barrier_wait(full + 8 * next, next_parity);
                    load_fragments(next, 0);
                }
            }

            // The stage of the step before is filled again, for STAGES steps after that one. By now all warps have left
            // it, or are about to: the one thread that waits hardly ever has to.
            if (part == 1 && threadIdx.x == 0 && step > 0 && step - 1 + STAGES < steps) {
                barrier_wait(empty + 8 * before, parity_before);
                copy_step(step - 1 + STAGES, before);
            }

#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
#pragma unroll
                for (int j = 0; j < WN / 8; ++j) {
                    const unsigned* b_two = b[part % 2][j / 2];  // 16 columns of B: registers 0, 1 and 2, 3 are 8 each
                    mma_16816(sum[i][j], a[part % 2][i], b_two[j % 2 * 2], b_two[j % 2 * 2 + 1]);
                }
        }
        before = stage, parity_before = parity;
        stage = next, parity = next_parity;
    }

    // A lane holds two neighbours in row lane / 4 of each 16 × 8 elements, and two more 8 rows further down: 8 bytes a
    // lane, and 4 lanes fill a sector. Each 16 × 8 lies inside C or outside as a whole.
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) {
            int to_row = row + warp_row + i * 16 + lane / 4, to_col = col + warp_col + j * 8 + lane % 4 * 2;
            if (to_row < m && to_col < n) {
                *(float2*)&C[(size_t)to_row * n + to_col] = make_float2(sum[i][j][0], sum[i][j][1]);
                *(float2*)&C[(size_t)(to_row + 8) * n + to_col] = make_float2(sum[i][j][2], sum[i][j][3]);
            }
        }
}
