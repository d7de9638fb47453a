// expect: sim=technique gpu=slow
// Right, but with ordinary multiply-adds: the tensor cores have nothing to do.

// launch hgemm_wmma_v1(A, B, C, m, n, k): grid=cdiv((m / TILE) * (n / TILE), WARPS) block=32*WARPS

#include <cuda_fp16.h>

#define TILE 16
#define WARPS 8  // in a block

extern "C" __global__ void hgemm_wmma_v1(const half* A, const half* B, float* C, int m, int n, int k)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;

    // Tiles of C are numbered row by row, n / TILE of them in a row: warp w computes tile w.
    int row = warp / (n / TILE) * TILE;
    int col = warp % (n / TILE) * TILE;

    // The last block may have warps without a tile; they leave as whole warps.
    if (row >= m)
        return;

    // Each lane computes 8 of the tile's 256 elements.
    for (int e = threadIdx.x % 32; e < TILE * TILE; e += 32) {
        int r = row + e / TILE, c = col + e % TILE;
        float sum = 0.0f;
        for (int i = 0; i < k; ++i)
            sum += __half2float(A[(size_t)r * k + i]) * __half2float(B[(size_t)i * n + c]);
        C[(size_t)r * n + c] = sum;
    }
}
