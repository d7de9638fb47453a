// elementwise_pack: c[i] = max(a[i] + b[i], 0) in half precision, in packs of eight halves: 16 bytes a load or store.
//
// This is what ends a block of a residual network: the shortcut is added, then comes ReLU.

#include <cuda_fp16.h>

// launch add_relu(a, b, c, n): grid=cdiv(n, 8*256) block=256

// The same 16 bytes under two names: memory is asked for the whole, arithmetic is done on four pairs.
union Pack {
    uint4 whole;
    __half2 pair[4];
};

extern "C" __global__ void add_relu(const __half* a, const __half* b, __half* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // Pack i begins 16 * i bytes past the array's start: at a multiple of 16, as 16-byte instructions demand, if the
    // array does. Arrays of cudaMalloc do, slices need not, and then there are no packs. No bit below 16 may be set in
    // any of the three addresses.
    bool aligned = ((size_t)a | (size_t)b | (size_t)c) % 16 == 0;
    int packs = aligned ? n / 8 : 0;
    if (i < packs) {
        Pack u, v;
        u.whole = reinterpret_cast<const uint4*>(a)[i];
        v.whole = reinterpret_cast<const uint4*>(b)[i];

        // One instruction adds both halves of a pair, another one takes both maxima.
        for (int k = 0; k < 4; ++k)
            u.pair[k] = __hmax2(__hadd2(u.pair[k], v.pair[k]), __float2half2_rn(0.0f));
        reinterpret_cast<uint4*>(c)[i] = u.whole;
    }

    // What is in no pack, half by half: the last n % 8, because a pack there would reach past the arrays; of slices all
    // of them, at most eight for each thread. 64 bits: k passes n by a whole grid.
    for (long long k = 8LL * packs + i; k < n; k += gridDim.x * blockDim.x)
        c[k] = __hmax(__hadd(a[k], b[k]), __float2half(0.0f));
}
