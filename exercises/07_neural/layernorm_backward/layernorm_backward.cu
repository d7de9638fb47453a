// layernorm_backward: the gradients of layernorm before it (dx) and of its factors (dgamma) and terms (dbeta).
//
//     n = (x - mean) · rstd      g = dy · gamma      dx = rstd · (g - Σ g / cols - n · Σ g · n / cols)      along a row
//     dgamma = Σ dy · n          dbeta = Σ dy                                                             down a column
//
// A block works on many rows, one after another, and a thread has the same columns in all of them. So sums along a row go
// through the block, and sums down a column stay in the thread. A second kernel adds up what the blocks have.

#define BLOCKS 2  // of an SM: as many as fit, so that all blocks run from the start to the end
#define ROWS 32   // of a block at least, or there are more sums than rows
#define PACKS 2   // of 4 columns, of a thread: 1024 threads have 8192 columns
#define SLICES 32 // of the blocks' sums, in the second kernel: a warp for each

// scratch partial: float[2 * cols * min(cdiv(rows, ROWS), BLOCKS * sm_count)]
// launch gradients(x, dy, gamma, mean, rstd, dx, partial, rows, cols): grid=min(cdiv(rows, ROWS), BLOCKS * sm_count) block=32 * cdiv(cols, 128 * PACKS) shared=16 * cols
// launch columns(partial, dgamma, dbeta, min(cdiv(rows, ROWS), BLOCKS * sm_count), cols): grid=cdiv(2 * cols, 32) block=(32, SLICES)

#include <cuda_pipeline.h>

// Two sums over the block at once, right in all threads. Neighbouring calls need different words.
__device__ float2 block_sum(float2 v, float2* of_warps)
{
    int lane = threadIdx.x % 32;
    for (int round = 0; round < 2; ++round) {
#pragma unroll
        for (int s = 16; s > 0; s /= 2) {
            v.x += __shfl_xor_sync(0xffffffff, v.x, s);
            v.y += __shfl_xor_sync(0xffffffff, v.y, s);
        }
        if (round == 1)
            break;
        if (lane == 0)
            of_warps[threadIdx.x / 32] = v;
        __syncthreads();  // every warp reads the words of all warps
        v = lane < blockDim.x / 32 ? of_warps[lane] : float2{0.0f, 0.0f};
    }
    return v;
}

__device__ float sum_of(float4 v) { return (v.x + v.y) + (v.z + v.w); }
__device__ float4 operator-(float4 v, float m) { return {v.x - m, v.y - m, v.z - m, v.w - m}; }
__device__ float4 operator*(float4 v, float s) { return {v.x * s, v.y * s, v.z * s, v.w * s}; }
__device__ float4 operator*(float4 u, float4 v) { return {u.x * v.x, u.y * v.y, u.z * v.z, u.w * v.w}; }
__device__ float4 operator+(float4 u, float4 v) { return {u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w}; }
__device__ float4 operator-(float4 u, float4 v) { return {u.x - v.x, u.y - v.y, u.z - v.z, u.w - v.w}; }

extern "C" __global__ void __launch_bounds__(1024)
gradients(const float4* x, const float4* dy, const float4* gamma, const float* mean, const float* rstd, float4* dx,
          float4* partial, int rows, int cols)
{
    extern __shared__ float4 ring[];  // two rows of x and of dy: the one in work, and the next one, in flight
    __shared__ float2 of_warps[2][32];

    // Thread t has packs t and t + T of 4 columns, in every row. Row r starts at r * packs; size_t, as it may pass 2^31.
    int t = threadIdx.x;
    int T = blockDim.x;
    int packs = cols / 4;
    int step = gridDim.x;  // rows from one of this block to its next one: together the blocks go through the arrays once

    // YOUR CODE: the factors of this thread's columns.
    // YOUR CODE: from row blockIdx.x on, each step-th row: n and g, this thread's sums for dgamma and dbeta, the row's two sums, dx.

    // Of each block a row with cols sums for dgamma, then cols sums for dbeta.
    // YOUR CODE: this thread's sums into partial.
}

// sums is what the blocks have stored. A lane for each of its columns, and a warp for every SLICES-th of its rows.
extern "C" __global__ void __launch_bounds__(32 * SLICES)
columns(const float* sums, float* dgamma, float* dbeta, int blocks, int cols)
{
    __shared__ float slices[SLICES][32];
    int lane = threadIdx.x;
    int slice = threadIdx.y;
    int c = blockIdx.x * 32 + lane;

    // YOUR CODE: the sum of column c of sums, into dgamma or dbeta.
}
