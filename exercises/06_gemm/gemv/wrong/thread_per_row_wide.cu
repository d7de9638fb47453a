// expect: sim=technique gpu=slow
// A thread for each row, 16 bytes at a time: each lane takes half a sector, a row away from the next lane.

// launch gemv(A, x, y, m, k): grid=cdiv(m, 128) block=128

#include <cuda_fp16.h>

__device__ float add_products(uint4 a, uint4 x, float sum)
{
    const half2* a2 = reinterpret_cast<const half2*>(&a);
    const half2* x2 = reinterpret_cast<const half2*>(&x);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        float2 p = __half22float2(a2[j]);
        float2 q = __half22float2(x2[j]);
        sum = fmaf(p.x, q.x, sum);
        sum = fmaf(p.y, q.y, sum);
    }
    return sum;
}

extern "C" __global__ void gemv(const half* A, const half* x, float* y, int m, int k)
{
    int row = blockIdx.x * 128 + threadIdx.x;
    if (row >= m)
        return;
    const uint4* a8 = reinterpret_cast<const uint4*>(A + (size_t)row * k);
    const uint4* x8 = reinterpret_cast<const uint4*>(x);
    float sum = 0.0f;
    for (int i = 0; i < k / 8; ++i)
        sum = add_products(a8[i], x8[i], sum);
    y[row] = sum;
}
