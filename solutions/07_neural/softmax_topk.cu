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

// The eight largest of two sorted eights, sorted. The largest of the first against the smallest of the second, and so on,
// are eight that rise and fall once: three rounds of comparisons sort those.
__device__ void merge(float (&top)[TOP], const float (&v)[TOP])
{
#pragma unroll
    for (int j = 0; j < TOP; ++j)
        top[j] = fmaxf(top[j], v[TOP - 1 - j]);
#pragma unroll
    for (int s = TOP / 2; s > 0; s /= 2)
#pragma unroll
        for (int j = 0; j < TOP; ++j)
            if ((j & s) == 0)
                order(top[j], top[j + s]);
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

    // 16 lanes load a row of 64 floats: a request has two rows. All 16 requests of a lane are in flight, without registers.
    const float* source = logits + (size_t)first * EXPERTS;
#pragma unroll 4
    for (int i = 0; i < 16; ++i) {
        int row = 2 * i + lane / 16, column = 4 * (lane % 16);
        if (row < here)
            __pipeline_memcpy_async(tile + row * PITCH + column, source + row * EXPERTS + column, 16);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();  // the other lanes' pieces of this lane's row are there, too

    float* mine = tile + lane * PITCH;
    if (lane < here) {
        // Values alone first: a comparison with places would be five instructions, not two.
        float top[TOP], v[TOP];
        load(top, mine);
        sort(top);
#pragma unroll 1
        for (int c = TOP; c < EXPERTS; c += TOP) {
            load(v, mine + c);
            sort(v);
            merge(top, v);
        }

        // Whatever reaches the eighth value is chosen: eight experts, or more if some are equal to it.
        unsigned long long chosen = 0;
#pragma unroll 2
        for (int c = 0; c < EXPERTS; c += TOP) {
            unsigned eight = 0;
            load(v, mine + c);
#pragma unroll
            for (int j = 0; j < TOP; ++j)
                if (v[j] >= top[TOP - 1])
                    eight |= 1u << j;
            chosen |= (unsigned long long)eight << c;
        }

        // From the lowest place upwards: an expert's rank is the number of values above its own, and of equal ones before.
        unsigned long long places = 0;  // a byte for each rank
        unsigned taken = 0;
        while (chosen) {
            int place = __ffsll(chosen) - 1;
            chosen &= chosen - 1;
            float x = mine[place];
            int rank = 0;
#pragma unroll
            for (int j = 0; j < TOP; ++j)
                rank += top[j] > x;
            while (taken >> rank & 1)
                ++rank;
            if (rank < TOP) {
                taken |= 1u << rank;
                places |= (unsigned long long)place << 8 * rank;
            }
        }

        // The softmax of the chosen ones: what the others would add to the sum cancels when the weights are normalised.
        float sum = 0.0f;
#pragma unroll
        for (int j = 0; j < TOP; ++j) {
            v[j] = __expf(top[j] - top[0]);
            sum += v[j];
        }
        float share = 1.0f / sum;

        // The row is not needed any more: its place takes the results, which the warp then stores side by side.
#pragma unroll
        for (int j = 0; j < TOP; ++j) {
            mine[j] = v[j] * share;
            mine[TOP + j] = __int_as_float(places >> 8 * j & 255);
        }
    }
    __syncwarp();  // all rows' results are there

#pragma unroll
    for (int i = 0; i < 2; ++i) {
        int row = 16 * i + lane / 2, column = 4 * (lane % 2);
        if (row < here) {
            size_t at = (size_t)(first + row) * TOP + column;
            *reinterpret_cast<float4*>(weights + at) = *reinterpret_cast<float4*>(tile + row * PITCH + column);
            *reinterpret_cast<int4*>(experts + at) = *reinterpret_cast<int4*>(tile + row * PITCH + TOP + column);
        }
    }
}
