// hgemm_wmma_v1: C = A · B on the tensor cores, halves in, floats out. One warp computes one tile of 16 × 16 elements.
//
// All matrices are row-major, and m, n and k are multiples of 16, so that every tile is whole.

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

    // YOUR CODE: at which row and column of C does this warp's tile begin? Is there such a tile?

    wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum;
    wmma::fill_fragment(sum, 0.0f);

    // YOUR CODE: go along k in steps of TILE: load a tile of A, load a tile of B, multiply. Then store sum into C.
}
