// expect: sim=pass gpu=slow
// Right, with wide loads, but one block of four warps for each multiprocessor: far too few bytes are in flight.

// launch gemv(A, x, y, m, k): grid=min(cdiv(m, 4), sm_count) block=128

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
    int lane = threadIdx.x % 32;
    const uint4* x8 = reinterpret_cast<const uint4*>(x);
    for (int row = blockIdx.x * 4 + threadIdx.x / 32; row < m; row += gridDim.x * 4) {
        const uint4* a8 = reinterpret_cast<const uint4*>(A + (size_t)row * k);
        float sum = 0.0f;
        for (int i = lane; i < k / 8; i += 32)
            sum = add_products(a8[i], x8[i], sum);
        for (int s = 16; s > 0; s /= 2)
            sum += __shfl_down_sync(0xffffffff, sum, s);
        if (lane == 0)
            y[row] = sum;
    }
}
