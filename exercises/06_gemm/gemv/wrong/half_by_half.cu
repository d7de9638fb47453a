// expect: sim=technique gpu=slow
// A warp for each row, but a lane loads one half at a time: 64 bytes for each request instead of 512.

// launch gemv(A, x, y, m, k): grid=cdiv(m, 4) block=128

#include <cuda_fp16.h>

extern "C" __global__ void gemv(const half* A, const half* x, float* y, int m, int k)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= m)
        return;
    const half* a = A + (size_t)row * k;
    float sum = 0.0f;
    for (int i = lane; i < k; i += 32)
        sum += __half2float(a[i]) * __half2float(x[i]);
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, s);
    if (lane == 0)
        y[row] = sum;
}
