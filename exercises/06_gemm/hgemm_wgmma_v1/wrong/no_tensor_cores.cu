// expect: gpu=technique
// Right, but with ordinary multiply-adds: neither TMA nor the tensor cores have anything to do.

// launch hgemm_wgmma_v1(A, B, C, m, n, k): grid=(n / TILE, m / TILE) block=(TILE, TILE)

#include <cuda_fp16.h>

#define TILE 16

extern "C" __global__ void hgemm_wgmma_v1(const half* A, const half* B, float* C, int m, int n, int k)
{
    __shared__ half a[TILE][TILE], b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < k; i += TILE) {
        a[threadIdx.y][threadIdx.x] = A[(size_t)row * k + i + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(size_t)(i + threadIdx.y) * n + col];
        __syncthreads();
        for (int j = 0; j < TILE; ++j)
            sum += __half2float(a[threadIdx.y][j]) * __half2float(b[j][threadIdx.x]);
        __syncthreads();
    }
    C[(size_t)row * n + col] = sum;
}
