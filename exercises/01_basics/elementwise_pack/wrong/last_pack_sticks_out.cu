// expect: out_of_bounds
// The number of packs is rounded up: the last one reaches behind the arrays.

// launch add_relu(a, b, c, n): grid=cdiv(n, 8*256) block=256

#include <cuda_fp16.h>

union Pack {
    uint4 whole;
    __half2 pair[4];
};

extern "C" __global__ void add_relu(const __half* a, const __half* b, __half* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (n + 7) / 8) {
        Pack u, v;
        u.whole = reinterpret_cast<const uint4*>(a)[i];
        v.whole = reinterpret_cast<const uint4*>(b)[i];
        for (int k = 0; k < 4; ++k)
            u.pair[k] = __hmax2(__hadd2(u.pair[k], v.pair[k]), __float2half2_rn(0.0f));
        reinterpret_cast<uint4*>(c)[i] = u.whole;
    }
}
