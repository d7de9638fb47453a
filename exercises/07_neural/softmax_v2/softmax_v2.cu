// softmax_v2: softmax of each row of x in two passes over the row. The first one finds the largest value and the sum
// together, the second one writes the result.
//
// One block works on one row.

// launch softmax_v2(x, y, rows, cols): grid=rows block=BLOCK

#include <float.h>
#include <math.h>

#define BLOCK 256
#define WARPS (BLOCK / 32)
#define LOADS 4  // of a thread, in flight together

// A pack is what a thread loads at once: four neighbouring floats, or one where rows do not begin at multiples of 16
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
__device__ void fill(float& v, float s) { v = s; }
__device__ void fill(float4& v, float s) { v = {s, s, s, s}; }
__device__ float scaled(float v, float s) { return v * s; }
__device__ float4 scaled(float4 v, float s) { return {v.x * s, v.y * s, v.z * s, v.w * s}; }

// What is known of some elements: their largest value, and the sum of exp(x - largest) over them.
struct Part {
    float largest, sum;
};

// YOUR CODE: the part without elements. Merged with any other part it must change nothing, and give no NaN.
__device__ Part nothing() { return {0.0f, 0.0f}; }  // YOUR CODE

__device__ Part merged(Part a, Part b)
{
    // YOUR CODE: the elements of both parts together. Their sums are relative to different largest values.

    return a;  // YOUR CODE
}

// The parts of all lanes of a warp together, in every lane.
__device__ Part merged_warp(Part p)
{
    for (int s = 16; s > 0; s /= 2)
        p = merged(p, {__shfl_xor_sync(0xffffffff, p.largest, s), __shfl_xor_sync(0xffffffff, p.sum, s)});
    return p;
}

// The parts of all threads of the block together, in every thread.
__device__ Part merged_block(Part p)
{
    __shared__ Part of_warps[WARPS];
    int lane = threadIdx.x % 32;

    p = merged_warp(p);
    if (lane == 0)
        of_warps[threadIdx.x / 32] = p;
    __syncthreads();  // every warp reads the parts of all warps
    return merged_warp(lane < WARPS ? of_warps[lane] : nothing());
}

// Pass 1: this thread's packs of a row.
template <typename Pack>
__device__ Part part_of(const Pack* in, int packs)
{
    // YOUR CODE: this thread takes packs threadIdx.x, threadIdx.x + BLOCK, and so on, LOADS of them at a time.
    Part mine = nothing();

    return mine;
}

// Pass 2: the result.
template <typename Pack>
__device__ void write(const Pack* in, Pack* out, int packs, Part row)
{
    // YOUR CODE: the packs once more, each as scaled(terms(…), …). Nobody reads y again: store with __stcs.

}

extern "C" __global__ void __launch_bounds__(BLOCK) softmax_v2(const float* x, float* y, int rows, int cols)
{
    // size_t, because rows * cols may pass 2^31.
    const float* in = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;

    // Rows of a multiple of 4 columns all begin at multiples of 16 bytes.
    bool wide = cols % 4 == 0;
    const float4* in4 = reinterpret_cast<const float4*>(in);
    float4* out4 = reinterpret_cast<float4*>(out);

    Part row = merged_block(wide ? part_of(in4, cols / 4) : part_of(in, cols));
    if (wide)
        write(in4, out4, cols / 4, row);
    else
        write(in, out, cols, row);
}
