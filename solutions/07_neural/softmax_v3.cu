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

    // All loads are issued before the first value is used. Every index of v is a constant once the loops are unrolled:
    // an array with an index that is known at run time only would lie in local memory. A column that the row does not
    // have is -infinity: it changes no maximum, and its term is 0.
    float v[MINE];
    if (wide) {
#pragma unroll
        for (int k = 0; k < MINE / 4; ++k) {
            float4 pack = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
            if (lane + 32 * k < cols / 4)
                pack = load_kept(in4 + lane + 32 * k);
            v[4 * k] = pack.x;
            v[4 * k + 1] = pack.y;
            v[4 * k + 2] = pack.z;
            v[4 * k + 3] = pack.w;
        }
    } else {
#pragma unroll
        for (int k = 0; k < MINE; ++k)
            v[k] = lane + 32 * k < cols ? in[lane + 32 * k] : -INFINITY;
    }

    float largest = -INFINITY;
#pragma unroll
    for (int k = 0; k < MINE; ++k)
        largest = fmaxf(largest, v[k]);
    largest = warp_max(largest);

    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < MINE; ++k) {
        v[k] = __expf(v[k] - largest);
        sum += v[k];
    }
    float scale = 1.0f / warp_sum(sum);

    if (wide) {
#pragma unroll
        for (int k = 0; k < MINE / 4; ++k)
            if (lane + 32 * k < cols / 4)
                out4[lane + 32 * k] = {v[4 * k] * scale, v[4 * k + 1] * scale, v[4 * k + 2] * scale,
                                       v[4 * k + 3] * scale};
    } else {
#pragma unroll
        for (int k = 0; k < MINE; ++k)
            if (lane + 32 * k < cols)
                out[lane + 32 * k] = v[k] * scale;
    }
}
