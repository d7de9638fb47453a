// One 16 × 16 tile a warp as in the solution, but the warps of a block form a rectangle: warps of a row read the same
// tiles of A, warps of a column the same of B. gpu_checks/variants.py puts other numbers in place of these.

// launch hgemm_wmma_v1(A, B, C, m, n, k): grid=(cdiv(n, 16 * COLS), cdiv(m, 16 * ROWS)) block=32*ROWS*COLS

#include <mma.h>

using namespace nvcuda;

#define TILE 16
#define ROWS 4    // of warps in a block
#define COLS 4
#define UNROLL 1  // steps along k whose loads may be on their way together

extern "C" __global__ void hgemm_wmma_v1(const half* A, const half* B, float* C, int m, int n, int k)
{
    int warp = threadIdx.x / 32;
    int row = (blockIdx.y * ROWS + warp / COLS) * TILE;
    int col = (blockIdx.x * COLS + warp % COLS) * TILE;
    if (row >= m || col >= n)
        return;

    wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum;
    wmma::fill_fragment(sum, 0.0f);

#pragma unroll UNROLL
    for (int i = 0; i < k; i += TILE) {
        wmma::load_matrix_sync(a, A + (size_t)row * k + i, k);
        wmma::load_matrix_sync(b, B + (size_t)i * n + col, n);
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(C + (size_t)row * n + col, sum, n, wmma::mem_row_major);
}
