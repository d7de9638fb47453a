// w4a16_gemv: y = W · x for one token. W has 4-bit weights with a scale and a zero point for each 128 of a row, x halves.
//
// Every weight is used once, so the time is that of reading its half byte, if unpacking is cheap enough. Eight weights of
// a row are a word; from its lowest four bits upwards it holds the weights 0, 2, 4, 6, 1, 3, 5, 7. So two weights that are
// 16 bits apart in the word are neighbours in the row, and in x: they become a half2, and are multiplied as one.

// launch w4a16_gemv(W, scales, zeros, x, y, m, k): grid=cdiv(m, 4 * ROWS) block=32*WARPS

#include <cuda_fp16.h>

#define WARPS 8    // of a block: all have the same rows, and each has its own pieces of them
#define ROWS 4     // rows of a lane: what it has loaded of x serves all of them
#define GROUP 128  // weights of a row that share a scale and a zero point
#define PIECE 32   // weights of a 16-byte load: a lane's four words, all in one group

// (bits & mask) | 0x6400 in each half of the word: one instruction. 0x6400 is 1024 as a half, and its last bit is worth
// 1: with four bits q in the lowest places it is 1024 + q, with q four places higher 1024 + 16q.
__device__ half2 biased(unsigned bits, unsigned mask)
{
    unsigned result;
    asm("lop3.b32 %0, %1, %2, 0x64006400, 0xea;" : "=r"(result) : "r"(bits), "r"(mask));
    return *reinterpret_cast<half2*>(&result);
}

// The products of a word's eight weights with eight halves of x, added up in two halves of four each: rounded to 11 bits,
// as every half, but they are too few for the error to grow. `low` is -(1024 + z), `high` is -(64 + z), both exact.
__device__ float products(unsigned word, uint4 x, half2 low, half2 high)
{
    const half2* pair = reinterpret_cast<const half2*>(&x);
    const half2 sixteenth = __float2half2_rn(0.0625f);
    half2 sum = __hmul2(__hadd2(biased(word, 0x000f000f), low), pair[0]);
    sum = __hfma2(__hfma2(biased(word, 0x00f000f0), sixteenth, high), pair[1], sum);
    word >>= 8;
    sum = __hfma2(__hadd2(biased(word, 0x000f000f), low), pair[2], sum);
    sum = __hfma2(__hfma2(biased(word, 0x00f000f0), sixteenth, high), pair[3], sum);
    float2 two = __half22float2(sum);
    return two.x + two.y;
}

extern "C" __global__ void w4a16_gemv(const unsigned* W, const half* scales, const unsigned char* zeros,
                                      const half* x, float* y, int m, int k)
{
    __shared__ float partial[WARPS][4 * ROWS];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    // Eight lanes lie side by side along a row, so that a request has 128 bytes of each of four rows; and what eight lanes
    // load of x is the same for all four.
    int along = lane % 8;
    int first = blockIdx.x * 4 * ROWS + lane / 8;
    int pieces = k / PIECE;
    int row[ROWS];
    float sum[ROWS] = {};
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        row[r] = min(first + 4 * r, m - 1);  // the last row stands in for those after it

    // k is a multiple of 128: the last piece of a row may be that of lane 3.
    for (int i = warp * 8 + along; i < pieces; i += 8 * WARPS) {
        uint4 w[ROWS];
        half scale[ROWS];
        half2 low[ROWS], high[ROWS];

        // Streaming loads: nothing of W is needed again, and it must not drive x out of the cache.
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            w[r] = __ldcs(reinterpret_cast<const uint4*>(W) + (size_t)row[r] * pieces + i);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            size_t group = (size_t)row[r] * (k / GROUP) + i / (GROUP / PIECE);
            half zero = __ushort2half_rn(zeros[group]);
            scale[r] = scales[group];
            low[r] = __half2half2(__hsub(__float2half(-1024.0f), zero));
            high[r] = __half2half2(__hsub(__float2half(-64.0f), zero));
        }

        // The scale is the same for all 32 weights: it multiplies their sum, in fp32.
        float part[ROWS] = {};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            uint4 v = reinterpret_cast<const uint4*>(x)[4 * i + j];  // one load for ROWS rows
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                part[r] += products(reinterpret_cast<const unsigned*>(&w[r])[j], v, low[r], high[r]);
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            sum[r] = fmaf(__half2float(scale[r]), part[r], sum[r]);
    }

    // Eight lanes' sums of each row become one, then those of all warps. All lanes take part, also those without a piece.
#pragma unroll
    for (int s = 4; s > 0; s /= 2)
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            sum[r] += __shfl_xor_sync(0xffffffff, sum[r], s);
    if (along == 0)
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            partial[warp][4 * r + lane / 8] = sum[r];
    __syncthreads();  // all warps' sums are there

    int mine = blockIdx.x * 4 * ROWS + threadIdx.x;
    if (threadIdx.x < 4 * ROWS && mine < m) {
        float total = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w)
            total += partial[w][threadIdx.x];
        y[mine] = total;
    }
}
