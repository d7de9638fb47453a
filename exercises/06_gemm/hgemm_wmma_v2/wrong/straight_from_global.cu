// expect: sim=technique
// Right, but every warp loads its fragments from global memory by itself, 4 bytes a lane; nothing is shared.

#define BM 128  // a block computes BM × BN elements of C
#define BN 128
#define WM 64   // each of its warps computes WM × WN of them
#define WN 64

// launch hgemm_wmma_v2(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=32*(BM/WM)*(BN/WN)

#include <mma.h>

using namespace nvcuda;

#define TILE 16  // a fragment

extern "C" __global__ void hgemm_wmma_v2(const half* A, const half* B, float* C, int m, int n, int k)
{
    int warp = threadIdx.x / 32;
    int row = blockIdx.y * BM + warp / (BN / WN) * WM, col = blockIdx.x * BN + warp % (BN / WN) * WN;

    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum[WM / TILE][WN / TILE];
    for (int i = 0; i < WM / TILE; ++i)
        for (int j = 0; j < WN / TILE; ++j)
            wmma::fill_fragment(sum[i][j], 0.0f);

    for (int l = 0; l < k; l += TILE) {
        wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a[WM / TILE];
        wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::row_major> b[WN / TILE];

        // Fragments outside are loaded from the matrix's last rows or columns; their products are not stored.
        for (int i = 0; i < WM / TILE; ++i)
            wmma::load_matrix_sync(a[i], A + (size_t)min(row + i * TILE, m - TILE) * k + l, k);
        for (int j = 0; j < WN / TILE; ++j)
            wmma::load_matrix_sync(b[j], B + (size_t)l * n + min(col + j * TILE, n - TILE), n);

        for (int i = 0; i < WM / TILE; ++i)
            for (int j = 0; j < WN / TILE; ++j)
                wmma::mma_sync(sum[i][j], a[i], b[j], sum[i][j]);
    }

    for (int i = 0; i < WM / TILE; ++i)
        for (int j = 0; j < WN / TILE; ++j)
            if (row + i * TILE < m && col + j * TILE < n)
                wmma::store_matrix_sync(C + (size_t)(row + i * TILE) * n + col + j * TILE, sum[i][j], n,
                                        wmma::mem_row_major);
}
