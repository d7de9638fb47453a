// softmax_v4: softmax of long rows. A block takes a row and keeps it in shared memory: x is read once, y is written
// once.

// launch softmax_v4(x, y, rows, cols): grid=rows block=32*min(32, cdiv(cols, 512)) shared=4*cols

#include <cuda_pipeline.h>
#include <float.h>

#include "load_kept.cuh"  // given: copy_kept, with which memory reads and writes at once a little faster

// A pack is what a thread copies at once: four neighbouring floats, or one where rows do not begin at multiples of 16
// bytes.
__device__ float largest_of(float v) { return v; }
__device__ float largest_of(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }
__device__ float terms(float v, float m) { return __expf(v - m); }
__device__ float4 terms(float4 v, float m)
{
    return {__expf(v.x - m), __expf(v.y - m), __expf(v.z - m), __expf(v.w - m)};
}
__device__ float sum_of(float v) { return v; }
__device__ float sum_of(float4 v) { return (v.x + v.y) + (v.z + v.w); }
__device__ float scaled(float v, float s) { return v * s; }
__device__ float4 scaled(float4 v, float s) { return {v.x * s, v.y * s, v.z * s, v.w * s}; }

// What is known of some elements: their largest value, and the sum of exp(x - largest) over them, as in softmax_v2.
struct Part {
    float largest, sum;
};

__device__ Part nothing() { return {-FLT_MAX, 0.0f}; }

__device__ Part merged(Part a, Part b)
{
    float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}

__device__ Part merged_warp(Part p)
{
    for (int s = 16; s > 0; s /= 2)
        p = merged(p, {__shfl_xor_sync(0xffffffff, p.largest, s), __shfl_xor_sync(0xffffffff, p.sum, s)});
    return p;
}

__device__ Part merged_block(Part p)
{
    __shared__ Part of_warps[32];
    int lane = threadIdx.x % 32;

    p = merged_warp(p);
    if (lane == 0)
        of_warps[threadIdx.x / 32] = p;
    __syncthreads();  // every warp reads the parts of all warps
    return merged_warp(lane < blockDim.x / 32 ? of_warps[lane] : nothing());
}

// Brings a row into shared memory and turns it into terms there; this thread's part of it.
template <typename Pack>
__device__ Part read(const Pack* in, Pack* row, int packs)
{
    // The whole row is asked for at once, past the registers: as many bytes are in flight as a row has.
    for (int i = threadIdx.x; i < packs; i += blockDim.x)
        copy_kept(row + i, in + i);
    __pipeline_commit();
    __pipeline_wait_prior(0);

    // From here on a thread uses only packs that it has copied itself, so that no barrier is needed for them.
    Part mine = nothing();
    for (int i = threadIdx.x; i < packs; i += blockDim.x)
        mine.largest = fmaxf(mine.largest, largest_of(row[i]));

    // Each element becomes its term, relative to the thread's largest value: its exponential is computed once.
    for (int i = threadIdx.x; i < packs; i += blockDim.x) {
        Pack v = terms(row[i], mine.largest);
        mine.sum += sum_of(v);
        row[i] = v;
    }
    return mine;
}

template <typename Pack>
__device__ void write(const Pack* row, Pack* out, int packs, float scale)
{
    for (int i = threadIdx.x; i < packs; i += blockDim.x)
        out[i] = scaled(row[i], scale);
}

extern "C" __global__ void __launch_bounds__(1024) softmax_v4(const float* x, float* y, int rows, int cols)
{
    extern __shared__ float4 row4[];
    float* row = reinterpret_cast<float*>(row4);

    // size_t, because rows * cols may pass 2^31.
    const float* in = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;

    // Rows of a multiple of 4 columns all begin at multiples of 16 bytes.
    bool wide = cols % 4 == 0;
    const float4* in4 = reinterpret_cast<const float4*>(in);
    float4* out4 = reinterpret_cast<float4*>(out);

    Part mine = wide ? read(in4, row4, cols / 4) : read(in, row, cols);
    Part all = merged_block(mine);

    // A thread's terms become relative to the row's largest value, and are divided by the row's sum, in one product. A
    // row that is masked whole has the sum 0, and 0 · (1 / 0) is NaN.
    float scale = __expf(mine.largest - all.largest) / all.sum;
    if (wide)
        write(row4, out4, cols / 4, scale);
    else
        write(row, out, cols, scale);
}
