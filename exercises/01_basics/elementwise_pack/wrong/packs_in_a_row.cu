// expect: sim=technique
// Each thread has four packs in a row: neighbouring lanes are 64 bytes apart, and half of each sector is wasted.

// launch add_relu(a, b, c, n): grid=cdiv(n, 32*256) block=256

#include <cuda_fp16.h>

union Pack {
    uint4 whole;
    __half2 pair[4];
};

extern "C" __global__ void add_relu(const __half* a, const __half* b, __half* c, int n)
{
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    for (int i = first; i < min(first + 4, n / 8); ++i) {
        Pack u, v;
        u.whole = reinterpret_cast<const uint4*>(a)[i];
        v.whole = reinterpret_cast<const uint4*>(b)[i];
        for (int k = 0; k < 4; ++k)
            u.pair[k] = __hmax2(__hadd2(u.pair[k], v.pair[k]), __float2half2_rn(0.0f));
        reinterpret_cast<uint4*>(c)[i] = u.whole;
    }
    int i = first / 4;
    if (i < n % 8) {
        int last = n / 8 * 8 + i;
        c[last] = __hmax(__hadd(a[last], b[last]), __float2half(0.0f));
    }
}
