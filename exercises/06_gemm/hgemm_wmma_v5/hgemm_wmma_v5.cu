// hgemm_wmma_v5: C = A · B on the tensor cores, halves in, floats out. Everything is fetched ahead: tiles two steps,
// past the registers and into padded rows; fragments one part of a step.
//
// All matrices are row-major; m, n and k are multiples of 16, but not of the block's tiles.

#define BM 256    // a block computes BM × BN elements of C
#define BN 128
#define BK 64     // and goes along k in steps of BK
#define WM 64     // each of its warps computes WM × WN of them
#define WN 64
#define STAGES 3  // steps whose tiles are in shared memory, or on their way there
#define STRIP 8   // rows of tiles that blocks are numbered through, column by column
#define WARPS ((BM / WM) * (BN / WN))
#define PAD 8     // unused halves after each row of a tile: 16 bytes
#define STAGE (BM * (BK + PAD) + BK * (BN + PAD))  // halves of one stage: a tile of A and a tile of B

// launch hgemm_wmma_v5(A, B, C, m, n, k): grid=cdiv(m, BM)*cdiv(n, BN) block=32*WARPS shared=STAGES*STAGE*2

#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

#define TILE 16  // a fragment
#define CHUNK 8  // halves in 16 bytes: what a lane copies at once
#define THREADS (32 * WARPS)
#define PARTS (BK / TILE)           // a step is multiplied in parts, one fragment along k each
#define A_HALVES (BM * (BK + PAD))  // after them, B's tile begins

static_assert(BM % WM == 0 && BN % WN == 0, "the warps' tiles fill the block's tile");
static_assert(WM % TILE == 0 && WN % TILE == 0 && BK % TILE == 0, "fragments fill a warp's tile");
static_assert(BK % 64 == 0, "eight lanes store into one row of a tile: 128 bytes, all banks once");
static_assert(STAGES >= 2, "one stage is multiplied while another one is filled");

// Begins to copy 16 bytes from global to shared memory. Where `inside` is false nothing is read, and 16 zeros arrive.
// (__pipeline_memcpy_async can do that too, but has two instructions for it, one of which is always skipped.)
// `.ca` keeps what was fetched in L1: where a padded row begins in the middle of a sector, the two halves of a sector
// go to different lines of shared memory, and the second one finds it there.
__device__ void cp_async16(unsigned to, const void* from, bool inside)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

// What a thread must know to copy its chunks of ROWS × COLS elements, computed once: in the loop there is no time for
// index arithmetic. Neighbouring threads take neighbouring chunks of a row, and all threads together copy ROUND rows.
template <int ROWS, int COLS>
struct Copier {
    static constexpr int IN_ROW = COLS / CHUNK, ROUND = THREADS / IN_ROW, ROUNDS = ROWS / ROUND;
    static constexpr int IN_PART = ROUNDS / PARTS;
    static_assert(THREADS % IN_ROW == 0 && ROWS % ROUND == 0, "all threads copy equally much");
    static_assert(ROUNDS % PARTS == 0, "and equally much in each part of a step");

    const char* from;    // the thread's next chunk
    size_t round_bytes;  // from there to the chunk ROUND rows below
    size_t step_bytes;   // from the chunk past the last one of a step to the first one of the next step
    unsigned to;         // the thread's first chunk, in bytes from the tile's beginning
    int rows;            // rows from the thread's first one to the end of the matrix, 0 for columns outside

    // From (row, col) on, of a matrix with `all_rows` rows and `all_cols` columns; a step further is `step` elements.
    __device__ Copier(const half* M, int row, int col, int all_rows, int all_cols, size_t step)
    {
        int r = threadIdx.x / IN_ROW, c = threadIdx.x % IN_ROW * CHUNK;
        from = (const char*)(M + (size_t)(row + r) * all_cols + col + c);
        round_bytes = (size_t)ROUND * all_cols * sizeof(half);
        step_bytes = step * sizeof(half) - ROUNDS * round_bytes;
        to = (r * (COLS + PAD) + c) * sizeof(half);
        rows = col + c < all_cols ? all_rows - row - r : 0;
    }

    // Part `part` of a step: IN_PART of the thread's chunks. A chunk lies inside the matrix or outside as a whole.
    __device__ void copy(unsigned tile, int part, int rows_left)
    {
#pragma unroll
        for (int i = part * IN_PART; i < (part + 1) * IN_PART; ++i) {
            cp_async16(tile + to + i * ROUND * (COLS + PAD) * sizeof(half), from, i * ROUND < rows_left);
            from += i + 1 < ROUNDS ? round_bytes : round_bytes + step_bytes;
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
    hgemm_wmma_v5(const half* A, const half* B, float* C, int m, int n, int k)
{
    // A ring of stages, each a tile of A and, after it, a tile of B. Step s uses stage s % STAGES.
    extern __shared__ __align__(128) half ring[];

    // Blocks that run at the same time should share rows of A and columns of B in L2: they are numbered through strips
    // of STRIP rows of tiles, column by column, so that 132 of them lie in a near square.
    int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
    int row = blockIdx.x / tiles_n * BM;  // YOUR CODE: this is reading order. Number them through strips.
    int col = blockIdx.x % tiles_n * BN;  // YOUR CODE: tiles_m says how high the last strip is.
    int warp = threadIdx.x / 32;
    int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;

    Copier<BM, BK> copy_a(A, row, 0, m, k, BK);
    Copier<BK, BN> copy_b(B, 0, col, k, n, (size_t)BK * n);

    // Along k both are counted down: a thread's chunk of A lies inside while a_left > 0, one of B while rows are left.
    // Past the end of k zeros are copied, and nothing is read. So no step has to be treated apart, not even the last.
    int a_left = k - threadIdx.x % copy_a.IN_ROW * CHUNK;

    // Begins to copy part `part` of a step: the copies are spread over the multiplications. With its last part a step's
    // group of copies ends, and the next step follows in the next stage of the ring.
    unsigned first = __cvta_generic_to_shared(ring), into = first;
    auto copy_part = [&](int part) {
        copy_a.copy(into, part, a_left > 0 ? copy_a.rows : 0);
        copy_b.copy(into + A_HALVES * sizeof(half), part, copy_b.rows);
        if (part == PARTS - 1) {
            __pipeline_commit();
            a_left -= BK;
            copy_b.rows -= BK;
            into += STAGE * sizeof(half);
            if (into == first + STAGES * STAGE * sizeof(half))
                into = first;
        }
    };

    // Before the loop: STAGES - 1 steps, a group each, and the first part of one more, whose group is still open.
#pragma unroll 1
    for (int step = 0; step < STAGES - 1; ++step)
#pragma unroll
        for (int part = 0; part < PARTS; ++part)
            copy_part(part);
    copy_part(0);

    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum[WM / TILE][WN / TILE];
    for (int i = 0; i < WM / TILE; ++i)
        for (int j = 0; j < WN / TILE; ++j)
            wmma::fill_fragment(sum[i][j], 0.0f);

    // Two sets of fragments: one is loaded while the other is multiplied. The leading dimension is the padded row.
    wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a[2][WM / TILE];
    wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::row_major> b[2][WN / TILE];

    // The warp's rows of A and columns of B in a stage, at first in stage 0.
    int stage = 0;
    const half *a_tile = ring + warp_row * (BK + PAD), *b_tile = ring + A_HALVES + warp_col;
    auto load_fragments = [&](int set, int part) {
        // YOUR CODE: load a[set][…] and b[set][…] from a_tile and b_tile, part * TILE further along k.
    };

    // YOUR CODE: STAGES - 1 groups are in flight, and the oldest one is needed. What to wait for, and for whom?
    load_fragments(0, 0);

#pragma unroll 1
    for (int left = k; left > 0; left -= BK) {
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            int now = part % 2, next = (part + 1) % PARTS;

            // After the last part of this step comes the first one of the next step, whose tiles are needed now.
            if (next == 0) {
                // YOUR CODE: the same as before the loop. What else does the barrier make sure of here?
                stage = stage == STAGES - 1 ? 0 : stage + 1;
                int further = stage == 0 ? -(STAGES - 1) * STAGE : STAGE;
                a_tile += further, b_tile += further;
            }

            // YOUR CODE: load the fragments of part `next` into the set that is free.
            // YOUR CODE: begin part `next` of the copies. Why not earlier?
            // YOUR CODE: multiply each of a[now] with each of b[now].
        }
    }

    // m and n are multiples of 16: a fragment lies inside C as a whole or outside as a whole.
    for (int i = 0; i < WM / TILE; ++i)
        for (int j = 0; j < WN / TILE; ++j) {
            int r = row + warp_row + i * TILE, c = col + warp_col + j * TILE;
            if (r < m && c < n)
                wmma::store_matrix_sync(C + (size_t)r * n + c, sum[i][j], n, wmma::mem_row_major);
        }
}
