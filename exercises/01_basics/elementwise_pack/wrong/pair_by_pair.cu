// expect: sim=technique gpu=slow
// Pairs make the arithmetic short, but a load still moves only 4 bytes a lane.

// launch add_relu(a, b, c, n): grid=cdiv(n, 2*256) block=256

#include <cuda_fp16.h>

extern "C" __global__ void add_relu(const __half* a, const __half* b, __half* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) {
        __half2 sum = __hadd2(reinterpret_cast<const __half2*>(a)[i], reinterpret_cast<const __half2*>(b)[i]);
        reinterpret_cast<__half2*>(c)[i] = __hmax2(sum, __float2half2_rn(0.0f));
    }
    if (i == 0 && n % 2 == 1)
        c[n - 1] = __hmax(__hadd(a[n - 1], b[n - 1]), __float2half(0.0f));
}
