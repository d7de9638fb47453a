// hgemm_wmma_v4: C = A · B on the tensor cores, halves in, floats out. Copies that pass by the registers, into
// two stages: while the tiles of one are multiplied, those of the next step are on their way into the other.
//
// All matrices are row-major; m, n and k are multiples of 16, but not of the block's tiles.

#define BM 128    // a block computes BM × BN elements of C
#define BN 128
#define BK 64     // and goes along k in steps of BK: rows of A's tile are 128 bytes
#define WM 64     // each of its warps computes WM × WN of them
#define WN 64
#define BLOCKS 2  // blocks on each SM at a time
#define PAD 8     // unused halves after each row of a tile: 16 bytes
#define STAGE (BM * (BK + PAD) + BK * (BN + PAD))  // halves of one stage: a tile of A and a tile of B

// launch hgemm_wmma_v4(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=32*(BM/WM)*(BN/WN) shared=2*STAGE*2

#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

#define TILE 16  // a fragment
#define CHUNK 8  // halves in 16 bytes: what a lane copies at once
#define THREADS (32 * (BM / WM) * (BN / WN))

static_assert(BM % WM == 0 && BN % WN == 0, "the warps' tiles fill the block's tile");
static_assert(WM % TILE == 0 && WN % TILE == 0 && BK % TILE == 0, "fragments fill a warp's tile");

// Begins to copy 16 bytes from global to shared memory. Where `inside` is false nothing is read, and 16 zeros arrive.
// `.ca` keeps what was fetched in L1: where a padded row begins in the middle of a sector, the two halves of a sector
// go to different sectors of shared memory, and the second one finds it there.
__device__ void cp_async16(void* to, const void* from, bool inside)
{
    unsigned shared = __cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(inside ? 16 : 0)
                 : "memory");
}

// Begins to copy a tile of ROWS × COLS elements. It begins at (row, col) of a matrix with `rows` rows and `cols`
// columns. Outside the matrix zeros arrive, which add nothing to any sum.
template <int ROWS, int COLS>
__device__ void copy_tile(half (&tile)[ROWS][COLS + PAD], const half* M, int row, int col, int rows, int cols)
{
    // YOUR CODE: which chunks are this thread's? Eight neighbouring lanes copy 128 bytes of one row.
    // YOUR CODE: for each of them one cp_async16, also outside the matrix, where `inside` is false.
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    hgemm_wmma_v4(const half* A, const half* B, float* C, int m, int n, int k)
{
    // Two stages: one is multiplied, the other one is filled. They are larger than the 48 KB that a kernel may declare,
    // so the launch line asks for them.
    extern __shared__ __align__(32) half stages[];
    auto a_tile = reinterpret_cast<half (*)[BM][BK + PAD]>(stages);
    auto b_tile = reinterpret_cast<half (*)[BK][BN + PAD]>(stages + 2 * BM * (BK + PAD));

    int row = blockIdx.y * BM, col = blockIdx.x * BN;

    // The block's warps lie in a grid, BN / WN of them side by side.
    int warp = threadIdx.x / 32;
    int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;

    // A warp's part of C: 4 × 4 fragments, which stay in registers from the first step to the last.
    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum[WM / TILE][WN / TILE];
    for (int i = 0; i < WM / TILE; ++i)
        for (int j = 0; j < WN / TILE; ++j)
            wmma::fill_fragment(sum[i][j], 0.0f);

    // Begins to copy the tiles of a step, a group of copies.
    auto copy = [&](int stage, int step) {
        copy_tile<BM, BK>(a_tile[stage], A, row, step, m, k);
        copy_tile<BK, BN>(b_tile[stage], B, step, col, k, n);
        __pipeline_commit();
    };

    // YOUR CODE: what is asked for before the loop?

    for (int step = 0, now = 0; step < k; step += BK) {  // YOUR CODE: `now` is the stage to multiply
        // YOUR CODE: the wait for copies, the barrier, the copies of the next step: in which order, and why?
        // YOUR CODE: multiply the stage `now`, as hgemm_wmma_v3 multiplies its only one.
    }

    // m and n are multiples of 16: a fragment lies inside C as a whole or outside as a whole.
    for (int i = 0; i < WM / TILE; ++i)
        for (int j = 0; j < WN / TILE; ++j) {
            int r = row + warp_row + i * TILE, c = col + warp_col + j * TILE;
            if (r < m && c < n)
                wmma::store_matrix_sync(C + (size_t)r * n + c, sum[i][j], n, wmma::mem_row_major);
        }
}
