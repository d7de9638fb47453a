// expect: gpu=technique
// Right, and on the tensor cores, but straight from global memory: no tile is copied, by TMA or otherwise.

// launch hgemm_tma(A, B, C, m, n, k): grid=(n / TILE, m / TILE) block=32

#include <mma.h>

#define TILE 16

extern "C" __global__ void hgemm_tma(const half* A, const half* B, float* C, int m, int n, int k)
{
    using namespace nvcuda::wmma;
    size_t row = (size_t)blockIdx.y * TILE, col = blockIdx.x * TILE;
    fragment<matrix_a, TILE, TILE, TILE, half, row_major> a;
    fragment<matrix_b, TILE, TILE, TILE, half, row_major> b;
    fragment<accumulator, TILE, TILE, TILE, float> c;
    fill_fragment(c, 0.0f);
    for (int i = 0; i < k; i += TILE) {
        load_matrix_sync(a, A + row * k + i, k);
        load_matrix_sync(b, B + (size_t)i * n + col, n);
        mma_sync(c, a, b, c);
    }
    store_matrix_sync(C + row * n + col, c, n, mem_row_major);
}
