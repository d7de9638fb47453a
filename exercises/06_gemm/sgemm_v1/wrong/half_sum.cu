// expect: wrong
// The sum is kept in half precision: 11 bits, and nothing above 65504.

// launch sgemm_v1(A, B, C, m, n, k): grid=(cdiv(m, 32), cdiv(n, 8)) block=(32, 8)

#include <cuda_fp16.h>

extern "C" __global__ void sgemm_v1(const float* A, const float* B, float* C, int m, int n, int k)
{
    // This thread's element of C. x counts rows and y counts columns, as the letters of a matrix are written.
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;

    // The blocks at the edges stick out of C: a thread without an element has nothing to do.
    if (row >= m || col >= n)
        return;

    // Row `row` of A times column `col` of B. The sum stays in a register until it is complete.
    __half sum = __float2half(0.0f);
    for (int l = 0; l < k; ++l)
        sum = __float2half(__half2float(sum) + A[row * k + l] * B[l * n + col]);

    C[row * n + col] = __half2float(sum);
}
