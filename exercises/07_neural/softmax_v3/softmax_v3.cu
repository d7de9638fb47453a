// softmax_v3: softmax of short rows. A warp takes a row and keeps it in registers: x is read once, y is written once.
//
// A row has at most 1024 columns, so that each of the 32 lanes holds at most 32 floats.

#include <math.h>

#include "load_kept.cuh"  // given: load_kept, with which memory reads and writes at once a little faster

#define WARPS 4  // in a block: a row for each of them
#define MINE 32  // columns of a lane, at most

// launch softmax_v3(x, y, rows, cols): grid=cdiv(rows, WARPS) block=32*WARPS

// The largest value and the sum over a warp, in all lanes: with xor each lane exchanges with another one. A shuffle
// orders its lanes by itself, so there is no barrier.
__device__ float warp_max(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, s));
    return v;
}

__device__ float warp_sum(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    return v;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) softmax_v3(const float* x, float* y, int rows, int cols)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * WARPS + threadIdx.x / 32;

    // The last block may have warps without a row. They leave as whole warps: no lane is missing in a shuffle.
    if (row >= rows)
        return;

    // size_t, because rows * cols may pass 2^31. Rows of a multiple of 4 columns all begin at multiples of 16 bytes.
    const float* in = x + (size_t)row * cols;
    float* out = y + (size_t)row * cols;
    const float4* in4 = reinterpret_cast<const float4*>(in);
    float4* out4 = reinterpret_cast<float4*>(out);
    bool wide = cols % 4 == 0;

    // YOUR CODE: load this lane's columns, all of them before the first is used. Some places have no column in this row.
    float v[MINE];

    // YOUR CODE: the row's largest value, the terms, their sum, the result.

}
