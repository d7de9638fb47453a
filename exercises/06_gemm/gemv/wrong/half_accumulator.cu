// expect: wrong
// The sums are halves, two in each register: twice as fast arithmetic that nobody needs, and 11 bits.

// launch gemv(A, x, y, m, k): grid=cdiv(m, 4) block=128

#include <cuda_fp16.h>

// Four pairs of products, added up as halves.
__device__ half2 add_products(uint4 a, uint4 x, half2 sum)
{
    const half2* a2 = reinterpret_cast<const half2*>(&a);
    const half2* x2 = reinterpret_cast<const half2*>(&x);
    for (int j = 0; j < 4; ++j)
        sum = __hfma2(a2[j], x2[j], sum);
    return sum;
}

extern "C" __global__ void gemv(const half* A, const half* x, float* y, int m, int k)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= m)
        return;
    const uint4* a8 = reinterpret_cast<const uint4*>(A + (size_t)row * k);
    const uint4* x8 = reinterpret_cast<const uint4*>(x);
    half2 pair = __float2half2_rn(0.0f);
    for (int i = lane; i < k / 8; i += 32)
        pair = add_products(a8[i], x8[i], pair);
    float sum = __low2float(pair) + __high2float(pair);
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, s);
    if (lane == 0)
        y[row] = sum;
}
