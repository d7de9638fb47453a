// expect: wrong
// B's tiles are read as column-major, which transposes each of them.

// launch hgemm_wmma_v1(A, B, C, m, n, k): grid=cdiv((m / TILE) * (n / TILE), WARPS) block=32*WARPS

#include <mma.h>

using namespace nvcuda;

#define TILE 16
#define WARPS 8  // in a block

extern "C" __global__ void hgemm_wmma_v1(const half* A, const half* B, float* C, int m, int n, int k)
{
    // The warps of the whole grid are numbered in order. All 32 lanes of a warp get the same number, and they must: a
    // fragment belongs to the warp as a whole, and each wmma call is made by all of its lanes together.
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;

    // Tiles of C are numbered row by row, n / TILE of them in a row: warp w computes tile w.
    int row = warp / (n / TILE) * TILE;
    int col = warp % (n / TILE) * TILE;

    // The last block may have warps without a tile; they leave as whole warps.
    if (row >= m)
        return;

    wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum;
    wmma::fill_fragment(sum, 0.0f);

    for (int i = 0; i < k; i += TILE) {
        // The last argument is the distance between two rows in memory, in elements: the width of the whole matrix.
        wmma::load_matrix_sync(a, A + (size_t)row * k + i, k);  // rows row … row + 15, columns i … i + 15
        wmma::load_matrix_sync(b, B + (size_t)i * n + col, n);  // rows i … i + 15, columns col … col + 15
        wmma::mma_sync(sum, a, b, sum);                         // sum = a · b + sum: 4096 multiply-adds
    }

    wmma::store_matrix_sync(C + (size_t)row * n + col, sum, n, wmma::mem_row_major);
}
