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

// YOUR CODE: a function that unpacks a word's eight weights in pairs, without a conversion from integers, and multiplies
// YOUR CODE: them with eight halves of x.

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

    // YOUR CODE: along the rows, a 16-byte piece of each of the lane's ROWS rows at a time. All 32 weights of a piece are in
    // YOUR CODE: one group, with one scale and one zero point. What is loaded of x serves all ROWS rows.

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
