// expect: sim=technique gpu=slow
// A thread for each row: neighbouring lanes read halves that lie a whole row apart.

// launch gemv(A, x, y, m, k): grid=cdiv(m, 128) block=128

#include <cuda_fp16.h>

extern "C" __global__ void gemv(const half* A, const half* x, float* y, int m, int k)
{
    int row = blockIdx.x * 128 + threadIdx.x;
    if (row >= m)
        return;
    const half* a = A + (size_t)row * k;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i)
        sum += __half2float(a[i]) * __half2float(x[i]);
    y[row] = sum;
}
