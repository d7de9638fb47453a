// expect: technique
// softmax_v2's solution: a block reads the row once for the sum, and once more for the result.

// softmax_v3: softmax of each row of x in two passes over the row. The first one finds the largest value and the sum
// together, the second one writes the result.
//
// One block works on one row.

// launch softmax_v3(x, y, rows, cols): grid=rows block=BLOCK

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

// No elements. The largest value is finite: -infinity minus -infinity would be no number, and a masked element, which
// is -infinity itself, has exp(-infinity - largest) = 0, as it should.
__device__ Part nothing() { return {-FLT_MAX, 0.0f}; }

// The elements of both parts together. Each sum is relative to its own part's largest value, so it is brought to the
// common one first: exp(x - a) · exp(a - b) = exp(x - b). No factor is above 1.
__device__ Part merged(Part a, Part b)
{
    float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
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
    Part mine = nothing();
    for (int start = threadIdx.x; start < packs; start += LOADS * BLOCK) {
        // All loads before the first use, so that they are in flight together. A pack that the row does not have is
        // -infinity: it changes no maximum, and its terms are 0.
        Pack v[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            fill(v[k], -INFINITY);
            if (start + k * BLOCK < packs)
                v[k] = in[start + k * BLOCK];
        }

        // When the largest value rises, the sum so far shrinks by the difference: one exponential for all loads.
        float largest = mine.largest;
#pragma unroll
        for (int k = 0; k < LOADS; ++k)
            largest = fmaxf(largest, largest_of(v[k]));
        mine.sum *= __expf(mine.largest - largest);
        mine.largest = largest;
#pragma unroll
        for (int k = 0; k < LOADS; ++k)
            mine.sum += sum_of(terms(v[k], largest));
    }
    return mine;
}

// Pass 2: the result. A row that is masked whole has the sum 0, and 0 · (1 / 0) is NaN. Nobody reads y again: __stcs
// says so, and leaves its place in the L2 to rows of x that are read once more.
template <typename Pack>
__device__ void write(const Pack* in, Pack* out, int packs, Part row)
{
    float scale = 1.0f / row.sum;
#pragma unroll 4
    for (int i = threadIdx.x; i < packs; i += BLOCK)
        __stcs(out + i, scaled(terms(in[i], row.largest), scale));
}

extern "C" __global__ void __launch_bounds__(BLOCK) softmax_v3(const float* x, float* y, int rows, int cols)
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
