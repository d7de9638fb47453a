// expect: sim=technique gpu=slow
// The given product as it is, but k is not divided: one block computes a 64 × 64 C alone.

// splitk_gemm: C = A · B in fp32, where C is small and k is huge: the sums are divided among blocks.
//
// All matrices are row-major; n and k are multiples of 4. A block computes one tile of C, over all of k.

#include "tile_product.cuh"  // given: tile_product(…), its BM, BN, BK, THREADS and SHARED, and step_count(k)

// launch splitk_gemm(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=THREADS shared=SHARED

extern "C" __global__ void __launch_bounds__(THREADS)
splitk_gemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    tile_product(A, B, m, n, k, blockIdx.y * BM, blockIdx.x * BN, 0, step_count(k),
                 [&](int row, int col, float4 sums) { *reinterpret_cast<float4*>(&C[(size_t)row * n + col]) = sums; });
}
