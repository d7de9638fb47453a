// expect: sim=technique gpu=slow
// Pairs make the arithmetic short, but a load still moves only 4 bytes a lane.

// launch add_relu(a, b, c, n): grid=cdiv(n, 2*256) block=256

#include <cuda_fp16.h>

extern "C" __global__ void add_relu(const __half* a, const __half* b, __half* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool aligned = ((size_t)a | (size_t)b | (size_t)c) % 4 == 0;
    int pairs = aligned ? n / 2 : 0;
    if (i < pairs) {
        __half2 sum = __hadd2(reinterpret_cast<const __half2*>(a)[i], reinterpret_cast<const __half2*>(b)[i]);
        reinterpret_cast<__half2*>(c)[i] = __hmax2(sum, __float2half2_rn(0.0f));
    }
    for (long long k = 2LL * pairs + i; k < n; k += gridDim.x * blockDim.x)
        c[k] = __hmax(__hadd(a[k], b[k]), __float2half(0.0f));
}
