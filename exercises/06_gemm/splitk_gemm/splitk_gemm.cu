// splitk_gemm: C = A · B in fp32, where C is small and k is huge: the sums are divided among blocks.
//
// All matrices are row-major; n and k are multiples of 4. A block computes one tile of C, but only over its slice of
// k: it gets a part of each sum. The parts of all slices lie one after the other in `partial`, m * n floats each, and
// a second launch adds them up.

#include "tile_product.cuh"  // given: tile_product(…), its BM, BN, BK, THREADS and SHARED, and step_count(k)

#define PLACES 3      // blocks that fit on a multiprocessor of an H200: 128 threads with 168 registers, 51 KiB
#define SHORTEST 128  // no slice for fewer elements along k: its part of C has to be written and read again

// A block for each place on the GPU. The tiles of C share these places, and each makes as many slices as it gets.
// scratch partial: float[cdiv(PLACES * sm_count, cdiv(m, BM) * cdiv(n, BN)) * m * n]
// launch splitk_gemm(A, B, partial, m, n, k): grid=PLACES * sm_count block=THREADS shared=SHARED
// launch add_slices(partial, C, m, n, k, PLACES * sm_count): grid=cdiv(m * n, 32) block=(32, 32)

// How many slices share `places` blocks: as many as there are for each tile, but none that is not worth its part.
__device__ int slice_count(int tiles, int k, int places)
{
    // YOUR CODE
}

extern "C" __global__ void __launch_bounds__(THREADS, PLACES)
splitk_gemm(const float* A, const float* B, float* partial, int m, int n, int k)
{
    // YOUR CODE: which tile is this block's, and which steps along k? Where do its sums go? tile_product multiplies.
}

// C = the sum of the slices' parts. A block has 32 elements of C, side by side along x; 32 threads along y share the
// slices among them. The order of the additions follows from the indices alone: same input, same bits.
extern "C" __global__ void __launch_bounds__(1024)
add_slices(const float* partial, float* C, int m, int n, int k, int places)
{
    // YOUR CODE
}
