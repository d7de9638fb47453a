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

// YOUR CODE: a function that unpacks a word's eight weights in pairs, less their zero point, and without a conversion from
// YOUR CODE: integers. From its lowest bits upwards a word has the weights 0 2 4 6 1 3 5 7.

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

    float total[2] = {};
    int stage = 0;
    for (int group = warp; group < groups; group += WARPS) {
        fetch(group + (STAGES - 1) * WARPS, (stage + STAGES - 1) % STAGES);
        // YOUR CODE: the group's scale and zero point of both rows; wait for the copies of this stage; its four words of each
        // YOUR CODE: row, unpacked and multiplied by the 32 halves of x that belong to them; the scales

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
