// expect: sim=technique
// A half2 of each vector in a load, an atomic for each thread, and a launch to clear the result.

#include <cuda_fp16.h>

// launch clear(out): grid=1 block=1
// launch dot_half2(x, y, out, n): grid=cdiv(n, 2 * 256) block=256

extern "C" __global__ void clear(float* out)
{
    *out = 0.0f;
}

extern "C" __global__ void dot_half2(const __half* x, const __half* y, float* out, int n)
{
    int i = 2 * (blockIdx.x * 256 + threadIdx.x);
    if (i + 1 < n) {
        float2 a = __half22float2(*reinterpret_cast<const __half2*>(x + i));
        float2 b = __half22float2(*reinterpret_cast<const __half2*>(y + i));
        atomicAdd(out, a.x * b.x + a.y * b.y);
    } else if (i < n) {
        atomicAdd(out, __half2float(x[i]) * __half2float(y[i]));
    }
}
