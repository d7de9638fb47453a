// gemv: y = A · x, halves in, floats out. A warp takes ROWS rows of A, and its lanes go along them side by side.
//
// A is row-major, m rows of k halves, and k is a multiple of 8: each row begins at a multiple of 16 bytes. Every
// element of A is used once, so that nothing counts but how fast A is read.

// launch gemv(A, x, y, m, k): grid=cdiv(m, WARPS * ROWS) block=32*WARPS

#include <cuda_fp16.h>

#define WARPS 2  // in a block: small blocks, so that a multiprocessor that is done early soon finds the next one
#define ROWS 4   // rows of a warp: what a lane has loaded of x serves all of them
#define LOADS 2  // loads of each row that a lane has in flight at a time: ROWS * LOADS of A

// sum + the products of eight halves of A with eight halves of x. Halves become floats without loss, and the product of
// two halves has at most 22 bits, so that a float holds it exactly: only the additions round.
__device__ float add_products(uint4 a, uint4 x, float sum)
{
    const half2* a2 = reinterpret_cast<const half2*>(&a);
    const half2* x2 = reinterpret_cast<const half2*>(&x);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        float2 p = __half22float2(a2[j]);
        float2 q = __half22float2(x2[j]);
        sum = fmaf(p.x, q.x, sum);
        sum = fmaf(p.y, q.y, sum);
    }
    return sum;
}

extern "C" __global__ void gemv(const half* A, const half* x, float* y, int m, int k)
{
    int lane = threadIdx.x % 32;
    int row = (blockIdx.x * WARPS + threadIdx.x / 32) * ROWS;

    // The last block may have warps without a row; they leave as whole warps, so no lane is missing in the shuffles.
    if (row >= m)
        return;

    // 16 bytes, eight halves, for each lane and request. A row's start may pass 2^31. Where the warp has fewer than
    // ROWS rows, the last one stands in for those after it; what they come to is not stored.
    const uint4* x8 = reinterpret_cast<const uint4*>(x);
    const uint4* a8[ROWS];
    float sum[ROWS] = {};
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        a8[r] = reinterpret_cast<const uint4*>(A + (size_t)min(row + r, m - 1) * k);
    int k8 = k / 8;
    int start = 0;

    // YOUR CODE: the loop along the rows, with LOADS loads of each row in flight. What lane 1 loads lies after
    // YOUR CODE: what lane 0 loads; k8 is rarely a multiple of 32 * LOADS. Then 32 lanes' sums become one, in lane 0.

#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (lane == 0 && row + r < m)
            y[row + r] = sum[r];
}
