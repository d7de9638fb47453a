// expect: wrong
// Sixteen products are added in each half of a half2, not eight: past 2048 a half has no odd numbers.
// launch w4a16_gemv(W, scales, zeros, x, y, m, k): grid=cdiv(m, ROWS) block=32*ROWS

#include <cuda_fp16.h>

#define ROWS 4  // of a block, one for each warp

__device__ half2 as_half2(unsigned bits) { return *reinterpret_cast<half2*>(&bits); }

// (bits & mask) | 0x6400 in each half of the word.
__device__ half2 biased(unsigned bits, unsigned mask)
{
    unsigned result;
    asm("lop3.b32 %0, %1, %2, 0x64006400, 0xea;" : "=r"(result) : "r"(bits), "r"(mask));
    return as_half2(result);
}

extern "C" __global__ void __launch_bounds__(32 * ROWS) w4a16_gemv(const unsigned* W, const half* scales,
                                                                 const unsigned char* zeros, const half* x, float* y,
                                                                 int m, int k)
{
    int lane = threadIdx.x % 32, pieces = k / 32;
    size_t row = blockIdx.x * ROWS + threadIdx.x / 32;
    if (row >= m)
        return;

    float total = 0.0f;
    for (int piece = lane; piece < pieces; piece += 32) {
        uint4 words = reinterpret_cast<const uint4*>(W)[row * pieces + piece];
        const half2* part = reinterpret_cast<const half2*>(x) + 16 * piece;
        size_t group = row * (k / 128) + piece / 4;
        float zero = zeros[group];
        half2 low = __float2half2_rn(1024.0f + zero), high = __float2half2_rn(64.0f + zero);
        half2 sum = {};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            unsigned word = reinterpret_cast<unsigned*>(&words)[j];
#pragma unroll
            for (int i = 0; i < 4; i += 2) {
                half2 sixteenths = __hmul2(biased(word, 0x00f000f0), __float2half2_rn(0.0625f));
                sum = __hfma2(__hsub2(biased(word, 0x000f000f), low), part[4 * j + i], sum);
                sum = __hfma2(__hsub2(sixteenths, high), part[4 * j + i + 1], sum);
                word >>= 8;
            }
        }
        total += __half2float(scales[group]) * (__low2float(sum) + __high2float(sum));
    }
    for (int s = 16; s > 0; s /= 2)
        total += __shfl_xor_sync(0xffffffff, total, s);
    if (lane == 0)
        y[row] = total;
}
