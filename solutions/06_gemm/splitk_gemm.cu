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
    return max(1, min(places / tiles, (k - 1) / SHORTEST + 1));
}

extern "C" __global__ void __launch_bounds__(THREADS, PLACES)
splitk_gemm(const float* A, const float* B, float* partial, int m, int n, int k)
{
    int across = (n + BN - 1) / BN;
    int tiles = (m + BM - 1) / BM * across;
    int slices = slice_count(tiles, k, gridDim.x);

    // A block has one slice of one tile, or nothing to do. Only if C has more tiles than the grid, it has several.
    for (int i = blockIdx.x; i < tiles * slices; i += gridDim.x) {
        int tile = i % tiles;
        int slice = i / tiles;

        // The slices' bounds are rounded in the same way, so that each slice ends where the next one begins; none is
        // longer than another by more than a step. steps * slices may pass 2^31.
        long long steps = step_count(k);
        int first = steps * slice / slices;
        int last = steps * (slice + 1) / slices;

        // Each slice has its own m * n floats, so no two blocks write to the same place.
        float* part = partial + (size_t)slice * m * n;
        tile_product(A, B, m, n, k, tile / across * BM, tile % across * BN, first, last,
                     [&](int row, int col, float4 sums) {
                         *reinterpret_cast<float4*>(&part[(size_t)row * n + col]) = sums;
                     });
    }
}

// C = the sum of the slices' parts. A block has 32 elements of C, side by side along x; 32 threads along y share the
// slices among them. The order of the additions follows from the indices alone: same input, same bits.
extern "C" __global__ void __launch_bounds__(1024)
add_slices(const float* partial, float* C, int m, int n, int k, int places)
{
    __shared__ float sums[32][32];
    int count = m * n;
    int slices = slice_count((m + BM - 1) / BM * ((n + BN - 1) / BN), k, places);
    int i = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;

    // A warp is a row of the block: its lanes read neighbouring elements of one slice.
    if (i < count) {
#pragma unroll 8
        for (int s = threadIdx.y; s < slices; s += 32)
            sum += partial[(size_t)s * count + i];
    }
    sums[threadIdx.y][threadIdx.x] = sum;

    // Barrier: the first warp reads the words of all warps.
    __syncthreads();

    if (threadIdx.y == 0 && i < count) {
        sum = 0.0f;
#pragma unroll
        for (int y = 0; y < 32; ++y)
            sum += sums[y][threadIdx.x];
        C[i] = sum;
    }
}
