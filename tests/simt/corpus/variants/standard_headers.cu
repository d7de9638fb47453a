// expect: pass
// The headers that ordinary code includes, and their names.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

#include <float.h>
#include <math.h>
#include <stdint.h>

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    uint32_t t = threadIdx.x;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + t;
    float v = i < m ? src[i] : 0.0f;
    if (fabsf(v) > FLT_MAX || v == INFINITY)
        v = NAN;
    partial[t] = v;
    __syncthreads();
    for (uint32_t s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
