// expect: wrong
// The fields pass through 16 bits: 11 bits of their 24 arrive.

#include <cuda_fp16.h>

// launch split_fields(particles, planes, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void split_fields(const float* particles, float* planes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        float4 p = reinterpret_cast<const float4*>(particles)[i];
        planes[i] = __half2float(__float2half(p.x));
        planes[n + i] = __half2float(__float2half(p.y));
        planes[2 * n + i] = __half2float(__float2half(p.z));
        planes[3 * n + i] = __half2float(__float2half(p.w));
    }
}
