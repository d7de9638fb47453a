// expect: sim=technique
// An aligned struct of four pairs is copied pair by pair: the compiler may use 16-byte instructions, and does not.

// launch add_relu(a, b, c, n): grid=cdiv(n, 8*256) block=256

#include <cuda_fp16.h>

struct alignas(16) Pack {
    __half2 pair[4];
};

extern "C" __global__ void add_relu(const __half* a, const __half* b, __half* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 8) {
        Pack u = reinterpret_cast<const Pack*>(a)[i];
        Pack v = reinterpret_cast<const Pack*>(b)[i];
        for (int k = 0; k < 4; ++k)
            u.pair[k] = __hmax2(__hadd2(u.pair[k], v.pair[k]), __float2half2_rn(0.0f));
        reinterpret_cast<Pack*>(c)[i] = u;
    }
    if (i < n % 8) {
        int last = n / 8 * 8 + i;
        c[last] = __hmax(__hadd(a[last], b[last]), __float2half(0.0f));
    }
}
