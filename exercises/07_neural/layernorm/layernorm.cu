// layernorm: of each row of x the values with mean 0 and variance 1, times gamma, plus beta. x is read once.
//
// One block works on one row, and keeps it: the first packs of each thread in registers, and the rest of a long row in
// shared memory. So the mean is complete before a difference is squared, and nothing is read again.

#define PACKS 4    // of 4 floats, in the registers of a thread
#define MOST 1024  // threads at most: two such blocks fit on a multiprocessor, with a row of 32768 values each

// launch layernorm(x, gamma, beta, y, rows, cols, eps): grid=rows block=min(MOST, 32 * cdiv(cols, 128 * PACKS)) shared=4 * max(min(cols % 4, 1) * cols, cols - 4 * PACKS * MOST)

#include <cuda_pipeline.h>

#include "load_kept.cuh"  // given: load_kept and copy_kept, with which memory reads and writes at once a little faster

// The sum over a warp, right in all lanes. All 32 lanes must take part.
__device__ float warp_sum(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    return v;
}

// The sum over the block, right in all threads. Each call needs words of its own.
__device__ float block_sum(float v, float* of_warps)
{
    int lane = threadIdx.x % 32;
    v = warp_sum(v);
    if (lane == 0)
        of_warps[threadIdx.x / 32] = v;
    __syncthreads();  // every warp reads the words of all warps
    return warp_sum(lane < blockDim.x / 32 ? of_warps[lane] : 0.0f);
}

// A pack is what a thread loads at once: 4 floats, or 1.
__device__ float sum_of(float4 v) { return (v.x + v.y) + (v.z + v.w); }
__device__ float sum_of(float v) { return v; }
__device__ float4 operator-(float4 v, float m) { return {v.x - m, v.y - m, v.z - m, v.w - m}; }
__device__ float4 operator*(float4 v, float s) { return {v.x * s, v.y * s, v.z * s, v.w * s}; }
__device__ float4 operator*(float4 u, float4 v) { return {u.x * v.x, u.y * v.y, u.z * v.z, u.w * v.w}; }
__device__ float4 operator+(float4 u, float4 v) { return {u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w}; }

// One row of `packs` packs. A thread takes packs t, t + T, t + 2 * T, …: the first PACKS of them stay in registers.
template <typename Pack>
__device__ void normalise(const Pack* __restrict__ x, const Pack* __restrict__ gamma, const Pack* __restrict__ beta,
                          Pack* __restrict__ y, int packs, int cols, float eps)
{
    extern __shared__ float4 long_rows[];
    __shared__ float sums[MOST / 32], squares[MOST / 32];
    Pack* rest = reinterpret_cast<Pack*>(long_rows);  // packs from PACKS * T on
    int t = threadIdx.x;
    int T = blockDim.x;

    // YOUR CODE: load the row, once; the mean; the squares of the differences; then y.
    // YOUR CODE: a place past the row's end must change no sum.
}

extern "C" __global__ void __launch_bounds__(MOST, 2)
layernorm(const float* x, const float* __restrict__ gamma, const float* __restrict__ beta, float* y, int rows, int cols,
          float eps)
{
    // Row r starts r * cols floats into the array; size_t, because that product may pass 2^31.
    const float* in = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;

    // Every row begins at a multiple of 16 bytes if its length is a multiple of 4. Else it goes float by float.
    if (cols % 4 == 0)
        normalise(reinterpret_cast<const float4*>(in), reinterpret_cast<const float4*>(gamma),
                  reinterpret_cast<const float4*>(beta), reinterpret_cast<float4*>(out), cols / 4, cols, eps);
    else
        normalise(in, gamma, beta, out, cols, cols, eps);
}
