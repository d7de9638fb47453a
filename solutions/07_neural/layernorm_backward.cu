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

    // Copies of one row to shared memory. A thread copies what it will read itself.
    auto fetch = [&](int row, int count) {
        float4* stage = ring + count % 2 * 2 * packs;
        size_t start = (size_t)row * packs;
        for (int i = t; i < packs; i += T) {
            __pipeline_memcpy_async(stage + i, x + start + i, 16);
            __pipeline_memcpy_async(stage + packs + i, dy + start + i, 16);
        }
    };
    fetch(blockIdx.x, 0);
    __pipeline_commit();

    // The numbers of these columns, once for the thread; and those of the first row.
    float4 factor[PACKS] = {}, of_gamma[PACKS] = {}, of_beta[PACKS] = {};
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
        if (int i = k * T + t; i < packs)
            factor[k] = gamma[i];
    float m = mean[blockIdx.x], scale = rstd[blockIdx.x];

    for (int row = blockIdx.x, count = 0; row < rows; row += step, ++count) {
        // The next row is in flight while this one is in work. Its place was read by this thread alone, a row ago.
        float next_m = 0.0f, next_scale = 0.0f;
        if (row + step < rows) {
            fetch(row + step, count + 1);
            next_m = mean[row + step];
            next_scale = rstd[row + step];
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);  // this row's copies: all but the last group. No barrier: they are the thread's own

        // Each value is read here and never again. A place past the row's end has 0 in both, which changes no sum.
        const float4* stage = ring + count % 2 * 2 * packs;
        float4 n[PACKS] = {}, g[PACKS] = {};
        float2 sum = {0.0f, 0.0f};
#pragma unroll
        for (int k = 0; k < PACKS; ++k)
            if (int i = k * T + t; i < packs) {
                n[k] = (stage[i] - m) * scale;
                g[k] = stage[packs + i];
                of_gamma[k] = of_gamma[k] + g[k] * n[k];
                of_beta[k] = of_beta[k] + g[k];
                g[k] = g[k] * factor[k];
                sum.x += sum_of(g[k]);
                sum.y += sum_of(g[k] * n[k]);
            }

        // One barrier a row. Two sets of words: a fast warp may store the next row's while a slow one reads these.
        sum = block_sum(sum, of_warps[count % 2]);

#pragma unroll
        for (int k = 0; k < PACKS; ++k)
            if (int i = k * T + t; i < packs)
                dx[(size_t)row * packs + i] = (g[k] - sum.x / cols - n[k] * (sum.y / cols)) * scale;
        m = next_m;
        scale = next_scale;
    }

    // Of each block a row with cols sums for dgamma, then cols sums for dbeta.
    float4* mine = partial + (size_t)blockIdx.x * 2 * packs;
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
        if (int i = k * T + t; i < packs) {
            mine[i] = of_gamma[k];
            mine[packs + i] = of_beta[k];
        }
}

// sums is what the blocks have stored. A lane for each of its columns, and a warp for every SLICES-th of its rows.
extern "C" __global__ void __launch_bounds__(32 * SLICES)
columns(const float* sums, float* dgamma, float* dbeta, int blocks, int cols)
{
    __shared__ float slices[SLICES][32];
    int lane = threadIdx.x;
    int slice = threadIdx.y;
    int c = blockIdx.x * 32 + lane;

    float sum = 0.0f;
    if (c < 2 * cols)
#pragma unroll 8
        for (int b = slice; b < blocks; b += SLICES)
            sum += sums[(size_t)b * 2 * cols + c];
    slices[slice][lane] = sum;
    __syncthreads();  // the first warp reads what all warps have stored

    if (slice > 0 || c >= 2 * cols)
        return;
    for (int s = 1; s < SLICES; ++s)
        sum += slices[s][lane];
    if (c < cols)
        dgamma[c] = sum;
    else
        dbeta[c - cols] = sum;
}
