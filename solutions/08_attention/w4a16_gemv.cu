// w4a16_gemv: y = W · x for one token. W has 4-bit weights with a scale and a zero point for each 128 of a row, x halves.
//
// Every weight is used once, so the time is that of reading its half byte, if a weight costs few enough instructions. Two
// of them are unpacked at once, by `lop3`, and tensor cores multiply: not because one vector needs their speed, but because
// one `mma` does 256 multiplications of a warp, with fp32 sums, and takes pairs of halves as they are.

// launch w4a16_gemv(W, scales, zeros, x, y, m, k): grid=cdiv(m, 16) block=32*WARPS

#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#define WARPS 8    // of a block: all have the same 16 rows, and take their groups in turn
#define STAGES 2   // steps of a warp whose weights are in flight, or in use; with more, more rows are read at a time: slower
#define GROUP 128  // weights of a row that share a scale and a zero point; 4 lanes with 16 bytes each

// (bits & mask) | 0x6400 in each half of the word: one instruction. 0x6400 is 1024 as a half, and its last bit is worth
// 1: with four bits q in the lowest places it is 1024 + q, with q four places higher 1024 + 16q.
__device__ half2 biased(unsigned bits, unsigned mask)
{
    unsigned result;
    asm("lop3.b32 %0, %1, %2, 0x64006400, 0xea;" : "=r"(result) : "r"(bits), "r"(mask));
    return *reinterpret_cast<half2*>(&result);
}

// The weights less their zero point, of four pairs in a word: 0 2 4 6 1 3 5 7 from the lowest bits upwards. All of these
// are integers below 2048, so nothing is rounded.
__device__ void unpack(unsigned word, unsigned zero, half2 (&pair)[4])
{
    // -1024 - zero and -64 - zero, in both halves: the last bit of 1024 is worth 1, the fifth last one of 64 as well.
    unsigned of_low = zero * 0x00010001 | 0xe400e400;
    unsigned of_high = zero * 0x00100010 | 0xd400d400;
    half2 low = *reinterpret_cast<half2*>(&of_low);
    half2 high = *reinterpret_cast<half2*>(&of_high);
    half2 sixteenth = __float2half2_rn(0.0625f);
    pair[0] = __hadd2(biased(word, 0x000f000f), low);
    pair[1] = __hfma2(biased(word, 0x00f000f0), sixteenth, high);
    word >>= 8;
    pair[2] = __hadd2(biased(word, 0x000f000f), low);
    pair[3] = __hfma2(biased(word, 0x00f000f0), sixteenth, high);
}

// sum += A · B of 16 × 16 weights and 16 × 8 halves. A lane has two pairs of row g and two of row g + 8, and the two pairs
// of x that belong to them. Which columns of W they are does not matter to the sum, if x has the same. All eight columns of
// B are the same x: sum[0] is row g, sum[2] row g + 8, in each lane.
__device__ void multiply(float (&sum)[4], half2 g0, half2 h0, half2 g1, half2 h1, unsigned x0, unsigned x1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(*reinterpret_cast<unsigned*>(&g0)), "r"(*reinterpret_cast<unsigned*>(&h0)),
          "r"(*reinterpret_cast<unsigned*>(&g1)), "r"(*reinterpret_cast<unsigned*>(&h1)), "r"(x0), "r"(x1));
}

extern "C" __global__ void w4a16_gemv(const unsigned* W, const half* scales, const unsigned char* zeros,
                                      const half* x, float* y, int m, int k)
{
    __shared__ uint4 ring[STAGES][2][32 * WARPS];
    __shared__ float partial[WARPS][16];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int along = lane % 4;  // four lanes go along a row; a warp has eight rows, and eight more
    int groups = k / GROUP;

    // The last row stands in for rows that are not there.
    size_t row[2];
    row[0] = min(blockIdx.x * 16 + lane / 4, m - 1);
    row[1] = min(blockIdx.x * 16 + lane / 4 + 8, m - 1);

    // A lane copies what it will use itself, so nobody has to wait for anybody else. Without a register for each byte in
    // flight there can be enough of them.
    auto fetch = [&](int group, int stage) {
        if (group < groups)
#pragma unroll
            for (int r = 0; r < 2; ++r)
                __pipeline_memcpy_async(&ring[stage][r][threadIdx.x],
                                        W + (row[r] * groups + group) * (GROUP / 8) + 4 * along, 16);
        __pipeline_commit();  // an empty one, too: the wait counts groups of copies
    };
    for (int s = 0; s < STAGES - 1; ++s)
        fetch(warp + s * WARPS, s);

    // Scales and zero points one step ahead: they are few bytes, but somebody has to wait for them.
    half next_scale[2];
    unsigned next_zero[2];
    auto look_up = [&](int group) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            next_scale[r] = scales[row[r] * groups + min(group, groups - 1)];
            next_zero[r] = zeros[row[r] * groups + min(group, groups - 1)];
        }
    };
    look_up(warp);

    float total[2] = {};
    int stage = 0;
    for (int group = warp; group < groups; group += WARPS) {
        fetch(group + (STAGES - 1) * WARPS, (stage + STAGES - 1) % STAGES);
        half scale[2] = {next_scale[0], next_scale[1]};
        unsigned zero[2] = {next_zero[0], next_zero[1]};
        look_up(group + WARPS);
        __pipeline_wait_prior(STAGES - 1);
        uint4 upper = ring[stage][0][threadIdx.x], lower = ring[stage][1][threadIdx.x];

        float sum[4] = {};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            uint4 v = reinterpret_cast<const uint4*>(x + group * GROUP)[4 * along + j];
            half2 g[4], h[4];
            unpack(reinterpret_cast<const unsigned*>(&upper)[j], zero[0], g);
            unpack(reinterpret_cast<const unsigned*>(&lower)[j], zero[1], h);
            multiply(sum, g[0], h[0], g[1], h[1], v.x, v.y);
            multiply(sum, g[2], h[2], g[3], h[3], v.z, v.w);
        }
        // The scale is the same for all 128 weights of the row: it multiplies their sum.
        total[0] = fmaf(__half2float(scale[0]), sum[0], total[0]);
        total[1] = fmaf(__half2float(scale[1]), sum[2], total[1]);
        stage = (stage + 1) % STAGES;
    }

    // The warps' sums of each row become one. The four lanes of a row have the same.
    if (along == 0) {
        partial[warp][lane / 4] = total[0];
        partial[warp][lane / 4 + 8] = total[1];
    }
    __syncthreads();  // all warps' sums are there
    int mine = blockIdx.x * 16 + threadIdx.x;
    if (threadIdx.x < 16 && mine < m) {
        float of_row = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w)
            of_row += partial[w][threadIdx.x];
        y[mine] = of_row;
    }
}
