// profile_reading_5: how many of the 256 floats of a row lie above each of eight levels. A warp has one row.
//
// bound: ?   YOUR CODE: what limits the kernel: memory, shared, instructions, special, double or shuffles
// predict: ?   YOUR CODE: the counter that the statement names, when CHANGED is defined

constexpr int LENGTH = 256;
constexpr int LEVELS = 8;

// launch above(x, counts): grid=rows block=32

// The sum over a warp, in all lanes.
__device__ int warp_sum(int v)
{
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    return v;
}

extern "C" __global__ void above(const float* x, int* counts)
{
    const float* row = x + (size_t)blockIdx.x * LENGTH;
    int lane = threadIdx.x;
    int count[LEVELS] = {};

    for (int i = lane; i < LENGTH; i += 32) {
        float v = row[i];
#pragma unroll
        for (int k = 0; k < LEVELS; k++) {
            int higher = v > 0.25f * k ? 1 : 0;
#ifndef CHANGED
            higher = warp_sum(higher);
#endif
            count[k] += higher;
        }
    }

#pragma unroll
    for (int k = 0; k < LEVELS; k++) {
#ifdef CHANGED
        count[k] = warp_sum(count[k]);
#endif
        if (lane == k)
            counts[blockIdx.x * LEVELS + k] = count[k];
    }
}
