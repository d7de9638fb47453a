// expect: sim=technique
// Right, and as hgemm_wmma_v5 does it: WMMA on padded tiles.

#define BM 128    // a block computes BM × BN elements of C
#define BN 256
#define BK 64     // and goes along k in steps of BK
#define WM 64     // each of its warps computes WM × WN of them
#define WN 64
#define STAGES 3  // steps whose tiles are in shared memory, or on their way there
#define WARPS ((BM / WM) * (BN / WN))
#define PAD 8     // unused halves after each row of a tile: 16 bytes
#define STAGE (BM * (BK + PAD) + BK * (BN + PAD))  // halves of one stage: a tile of A and a tile of B

// launch hgemm_mma(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=32*WARPS shared=STAGES*STAGE*2

#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

#define TILE 16  // a fragment
#define CHUNK 8  // halves in 16 bytes: what a lane copies at once
#define THREADS (32 * WARPS)

static_assert(BM % WM == 0 && BN % WN == 0, "the warps' tiles fill the block's tile");
static_assert(WM % TILE == 0 && WN % TILE == 0 && BK % TILE == 0, "fragments fill a warp's tile");
static_assert(BK % 64 == 0, "eight lanes store into one row of a tile: 128 bytes, all banks once");
static_assert(STAGES >= 2, "one stage is multiplied while another one is filled");

// Begins to copy ROWS × COLS elements from (row, col) on of a matrix with `rows` rows and `cols` columns.
template <int ROWS, int COLS>
__device__ void copy_tile(half* tile, const half* M, int row, int col, int rows, int cols)
{
    // Neighbouring threads take neighbouring chunks. All threads together copy ROUND rows at once.
    constexpr int IN_ROW = COLS / CHUNK, ROUND = THREADS / IN_ROW;
    static_assert(THREADS % IN_ROW == 0 && ROWS % ROUND == 0, "all threads copy equally much");
#pragma unroll
    for (int i = 0; i < ROWS / ROUND; ++i) {
        int r = threadIdx.x / IN_ROW + i * ROUND, c = threadIdx.x % IN_ROW * CHUNK;

        // A chunk lies inside or outside as a whole. The last argument says how many of the 16 bytes are not read but
        // filled with zeros: all of them outside, where the address must be a valid one nevertheless.
        bool inside = row + r < rows && col + c < cols;
        const half* from = inside ? M + (size_t)(row + r) * cols + col + c : M;
        __pipeline_memcpy_async(tile + r * (COLS + PAD) + c, from, 16, inside ? 0 : 16);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    hgemm_mma(const half* A, const half* B, float* C, int m, int n, int k)
{
    // A ring of stages, each a tile of A and, after it, a tile of B. Step s uses stage s % STAGES.
    extern __shared__ __align__(128) half ring[];

    int row = blockIdx.y * BM, col = blockIdx.x * BN;
    int warp = threadIdx.x / 32;
    int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    int steps = (k + BK - 1) / BK;

    // Each step is one group of copies. Behind the last step groups are empty, so that counting them stays right.
    auto copy_step = [&](int step) {
        if (step < steps) {
            half* a_tile = ring + step % STAGES * STAGE;
            copy_tile<BM, BK>(a_tile, A, row, step * BK, m, k);
            copy_tile<BK, BN>(a_tile + BM * (BK + PAD), B, step * BK, col, k, n);
        }
        __pipeline_commit();
    };

    for (int step = 0; step < STAGES - 1; ++step)
        copy_step(step);

    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum[WM / TILE][WN / TILE];
    for (int i = 0; i < WM / TILE; ++i)
        for (int j = 0; j < WN / TILE; ++j)
            wmma::fill_fragment(sum[i][j], 0.0f);

    for (int step = 0; step < steps; ++step) {
        // STAGES - 1 groups are in flight, and this step's is the oldest: wait until all but STAGES - 2 are complete.
        // A thread waits for its own copies only. Barrier: now those of all threads have arrived. And all warps have
        // left the step before, so that its stage may be filled again: one barrier a step does both.
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        copy_step(step + STAGES - 1);

        const half* a_tile = ring + step % STAGES * STAGE;
        const half* b_tile = a_tile + BM * (BK + PAD);
#pragma unroll 2
        for (int kk = 0; kk < BK; kk += TILE) {
            wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a[WM / TILE];
            wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::row_major> b[WN / TILE];

            // The leading dimension is the padded row. 4 + 4 fragments are loaded for 4 · 4 products.
            for (int i = 0; i < WM / TILE; ++i)
                wmma::load_matrix_sync(a[i], a_tile + (warp_row + i * TILE) * (BK + PAD) + kk, BK + PAD);
            for (int j = 0; j < WN / TILE; ++j)
                wmma::load_matrix_sync(b[j], b_tile + kk * (BN + PAD) + warp_col + j * TILE, BN + PAD);

            for (int i = 0; i < WM / TILE; ++i)
                for (int j = 0; j < WN / TILE; ++j)
                    wmma::mma_sync(sum[i][j], a[i], b[j], sum[i][j]);
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
