// w4a16_gemv: y = W · x for one token. W has 4-bit weights with a scale and a zero point for each 128 of a row, x halves.
//
// Every weight is used once, so the time is that of reading its half byte, if a weight costs few enough instructions. Two
// of them are unpacked at once, by `lop3`, and tensor cores multiply: not because one vector needs their speed, but because
// one `mma` does 256 multiplications of a warp, with fp32 sums, and takes pairs of halves as they are.
//
// A warp reads 512 bytes of a row at once: a strip of 1024 weights, eight groups of 128, with four lanes each. The groups
// are eight rows of A; the same groups of the next row of W are eight more. The columns of B are the eight parts of x: of
// all their products with A, the diagonal is wanted.

// launch w4a16_gemv(W, scales, zeros, x, y, m, k): grid=cdiv(m, ROWS) block=32*WARPS

#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#define WARPS 4              // of a block: all have the same rows, and take their strips in turn
#define ROWS 16              // of a block: a lane loads its part of x once for all of them
#define STEP 8               // rows whose weights are copied together
#define STEPS (ROWS / STEP)  // of a strip
#define STAGES 2             // steps of a warp whose weights are in flight, or in use

struct Sums {
    float v[4];
};

// YOUR CODE: a function that unpacks two weights of a word at once, without a conversion from integers. From its lowest bits
// YOUR CODE: upwards a word has the weights 0 2 4 6 1 3 5 7.

// sums + A · B of 16 × 16 and 16 × 8 halves. Lane 4g + t has two pairs of row g of A, `a`, two of row g + 8, `b`, and two
// of column g of B. Which of the 16 places they are does not matter, if A and B have the same. It gets columns 2t and
// 2t + 1 of row g, and then of row g + 8.
__device__ Sums multiply(half2 a0, half2 a1, half2 b0, half2 b1, half2 x0, half2 x1, Sums sums)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums.v[0]), "+f"(sums.v[1]), "+f"(sums.v[2]), "+f"(sums.v[3])
        : "r"(*reinterpret_cast<unsigned*>(&a0)), "r"(*reinterpret_cast<unsigned*>(&b0)),
          "r"(*reinterpret_cast<unsigned*>(&a1)), "r"(*reinterpret_cast<unsigned*>(&b1)),
          "r"(*reinterpret_cast<unsigned*>(&x0)), "r"(*reinterpret_cast<unsigned*>(&x1)));
    return sums;
}

// Four blocks on a multiprocessor: the compiler may use 128 registers a thread.
extern "C" __global__ void __launch_bounds__(32 * WARPS, 4) w4a16_gemv(const unsigned* W, const half* scales,
                                                                     const unsigned char* zeros, const half* x,
                                                                     float* y, int m, int k)
{
    __shared__ uint4 ring[STAGES][STEP][32 * WARPS];
    __shared__ float partial[WARPS][ROWS][8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int g = lane / 4, t = lane % 4;  // the group of the strip's eight, and which of its four lanes
    int groups = k / 128, pieces = k / 32;

    // The last row stands in for rows that are not there.
    auto row = [&](int r) { return min(blockIdx.x * ROWS + r, m - 1); };

    // A lane copies what it will use itself, so nobody has to wait for anybody else. Without a register for each byte in
    // flight there can be enough of them. Past the end of a row the last piece stands in; x is 0 there.
    auto fetch = [&](int strip, int step, int stage) {
        int piece = min(32 * strip + lane, pieces - 1);
        if (32 * strip < pieces)
#pragma unroll
            for (int r = 0; r < STEP; ++r)
                __pipeline_memcpy_async(&ring[stage][r][threadIdx.x],
                                        reinterpret_cast<const uint4*>(W) + (row(STEP * step + r) * pieces + piece), 16);
        __pipeline_commit();  // an empty one, too: the wait counts groups of copies
    };
#pragma unroll
    for (int step = 0; step < STAGES - 1; ++step)
        fetch(warp, step, step);

    float total[ROWS] = {};
    int stage = 0;
    for (int strip = warp; 32 * strip < pieces; strip += WARPS) {
        // YOUR CODE: the 32 halves of x that belong to the lane's weights, 0 past the end of the row; the scales and zero
        // YOUR CODE: points of the strip's groups

#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            int ahead = step + STAGES - 1;
            fetch(strip + ahead / STEPS * WARPS, ahead % STEPS, stage == 0 ? STAGES - 1 : stage - 1);
            __pipeline_wait_prior(STAGES - 1);
            // YOUR CODE: the rows of this stage, two at a time, unpacked and multiplied; the zero point and the scale of each
            // YOUR CODE: group

            stage = stage == STAGES - 1 ? 0 : stage + 1;
        }
    }

    // The groups' and the warps' sums of each row become one.
    if (t == g / 2)
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            partial[warp][r][g] = total[r];
    __syncthreads();  // all warps' sums are there
    int mine = blockIdx.x * ROWS + threadIdx.x;
    if (threadIdx.x < ROWS && mine < m) {
        float of_row = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w)
#pragma unroll
            for (int i = 0; i < 8; ++i)
                of_row += partial[w][threadIdx.x][i];
        y[mine] = of_row;
    }
}
