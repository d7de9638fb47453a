// softmax_topk: the gate of a mixture of experts. Of each row of 64 logits the 8 largest, their places, and their softmax.
//
// A thread has a row, because then nothing has to be exchanged to select. But a warp loads 32 rows with its lanes side by
// side, into shared memory: lanes that each read their own row from global memory would touch 32 lines in each request.

// launch softmax_topk(logits, weights, experts, rows): grid=cdiv(rows, 32 * WARPS) block=32*WARPS

#include <cuda_pipeline.h>

#define WARPS 4
#define EXPERTS 64
#define TOP 8
#define PITCH (EXPERTS + 4) // floats of a row in shared memory: 16-byte loads of 8 lanes are in 32 different banks

// Eight values of a row, in two loads.
__device__ void load(float (&v)[TOP], const float* from)
{
    *reinterpret_cast<float4*>(v) = *reinterpret_cast<const float4*>(from);
    *reinterpret_cast<float4*>(v + 4) = *reinterpret_cast<const float4*>(from + 4);
}

// The larger one first.
__device__ void order(float& a, float& b)
{
    float larger = fmaxf(a, b);
    b = fminf(a, b);
    a = larger;
}

// Eight values in descending order: the network of 19 comparisons. Indices are constants, so v stays in registers.
__device__ void sort(float (&v)[TOP])
{
    order(v[0], v[2]); order(v[1], v[3]); order(v[4], v[6]); order(v[5], v[7]);
    order(v[0], v[4]); order(v[1], v[5]); order(v[2], v[6]); order(v[3], v[7]);
    order(v[0], v[1]); order(v[2], v[3]); order(v[4], v[5]); order(v[6], v[7]);
    order(v[2], v[4]); order(v[3], v[5]);
    order(v[1], v[4]); order(v[3], v[6]);
    order(v[1], v[2]); order(v[3], v[4]); order(v[5], v[6]);
}

extern "C" __global__ void softmax_topk(const float* logits, float* weights, int* experts, int rows)
{
    __shared__ float tiles[WARPS][32 * PITCH];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int first = (blockIdx.x * WARPS + warp) * 32;
    if (first >= rows)
        return;
    int here = min(32, rows - first);
    float* tile = tiles[warp];

    // YOUR CODE: the warp's rows from global memory to the tile, with the lanes side by side

    float* mine = tile + lane * PITCH;
    if (lane < here) {
        // YOUR CODE: the row's eight largest logits in descending order, equal ones by place; their places; their softmax
        // YOUR CODE: then the row is not needed any more: eight weights and eight places (ints) into its place
    }
    __syncwarp();  // all rows' results are there

    // YOUR CODE: the results of the warp's rows from the tile to global memory, with the lanes side by side
}
