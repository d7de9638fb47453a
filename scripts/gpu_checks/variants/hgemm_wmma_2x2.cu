// For comparison only: each warp computes 2 × 2 tiles and uses every fragment twice, which is the idea of a later step.

// launch hgemm_wmma_v1(A, B, C, m, n, k): grid=(cdiv(n, 32 * COLS), cdiv(m, 32 * ROWS)) block=32*ROWS*COLS

#include <mma.h>

using namespace nvcuda;

#define TILE 16
#define ROWS 2  // of warps in a block
#define COLS 4
#define UNROLL 1

extern "C" __global__ void hgemm_wmma_v1(const half* A, const half* B, float* C, int m, int n, int k)
{
    int warp = threadIdx.x / 32;
    int row = (blockIdx.y * ROWS + warp / COLS) * 2 * TILE;
    int col = (blockIdx.x * COLS + warp % COLS) * 2 * TILE;

    wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::row_major> b[2];
    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum[2][2];
    for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 2; ++c)
            wmma::fill_fragment(sum[r][c], 0.0f);

#pragma unroll UNROLL
    for (int i = 0; i < k; i += TILE) {
        for (int r = 0; r < 2; ++r)
            if (row + r * TILE < m)
                wmma::load_matrix_sync(a[r], A + (size_t)(row + r * TILE) * k + i, k);
        for (int c = 0; c < 2; ++c)
            if (col + c * TILE < n)
                wmma::load_matrix_sync(b[c], B + (size_t)i * n + col + c * TILE, n);
        for (int r = 0; r < 2; ++r)
            for (int c = 0; c < 2; ++c)
                wmma::mma_sync(sum[r][c], a[r], b[c], sum[r][c]);
    }
    for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 2; ++c)
            if (row + r * TILE < m && col + c * TILE < n)
                wmma::store_matrix_sync(C + (size_t)(row + r * TILE) * n + col + c * TILE, sum[r][c], n,
                                        wmma::mem_row_major);
}
