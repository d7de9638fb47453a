// groupnorm_nhwc: each group of channels of each sample gets mean 0 and variance 1, then times gamma, plus beta. The
// channels of a pixel are neighbours in memory. x is read twice, the second time from the L2 cache.
//
// A slice is a few pixels of one sample, with all of their channels. Even blocks measure slices, in order. Odd blocks
// normalise slices in the same order, LAG samples later: what they read was read a moment ago, and is still in the L2.

#include <cuda_pipeline_primitives.h>

#define AIM 320  // threads of a block: as many pixels side by side as fit
#define DEEP 20  // pixels of a thread, in flight together: 2 blocks on a multiprocessor have 200 KB in flight
#define LAG 2    // samples between measuring and normalising

// Sum of x and sum of x² for each group, of each sample; the number of slices that are measured, of each sample.
// scratch sums: double[2 * samples * groups]
// scratch done: int[samples]
// zero sums
// zero done
// launch groupnorm_nhwc(x, gamma, beta, y, sums, done, samples, pixels, groups, width, eps): grid=2 * (samples + LAG) * cdiv(pixels, DEEP * (4 * AIM / (groups * width))) block=(groups * width / 4, 4 * AIM / (groups * width)) shared=4 * DEEP * groups * width * (4 * AIM / (groups * width))

__device__ float4 operator+(float4 u, float4 v) { return {u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w}; }
__device__ float4 operator-(float4 u, float4 v) { return {u.x - v.x, u.y - v.y, u.z - v.z, u.w - v.w}; }
__device__ float4 operator*(float4 u, float4 v) { return {u.x * v.x, u.y * v.y, u.z * v.z, u.w * v.w}; }
__device__ float4 operator*(float4 v, float s) { return {v.x * s, v.y * s, v.z * s, v.w * s}; }

// Mean and scale of a group from the sums of all of its slices.
__device__ float2 finish(const double* sums, int g, double share, float eps)
{
    // The difference of two nearly equal numbers if the mean is large: as doubles they have enough digits.
    double mean = __ldcg(sums + 2 * g) * share;
    double variance = __ldcg(sums + 2 * g + 1) * share - mean * mean;
    return {(float)mean, rsqrtf((float)variance + eps)};
}

extern "C" __global__ void __launch_bounds__(AIM, 2)
groupnorm_nhwc(const float4* x, const float4* gamma, const float4* beta, float4* y, double* sums, int* done, int samples,
               int pixels, int groups, int width, float eps)
{
    extern __shared__ float4 tile[];  // of each thread DEEP pixels, which no other thread touches
    int quad = threadIdx.x;           // of channels, the same in all pixels of a thread
    int quads = blockDim.x;
    int rows = blockDim.y;
    int threads = quads * rows;
    int t = threadIdx.y * quads + quad;
    int slices = (pixels + DEEP * rows - 1) / (DEEP * rows);

    // Measuring blocks and normalising ones take turns, so that both are at work at any time.
    bool late = blockIdx.x % 2;
    int index = blockIdx.x / 2 - (late ? LAG * slices : 0);
    if (index < 0 || index >= samples * slices)
        return;
    int sample = index / slices;
    int first = index % slices * DEEP * rows;
    int count = min(DEEP * rows, pixels - first);
    int mine = (count - (int)threadIdx.y + rows - 1) / rows;
    size_t start = ((size_t)sample * pixels + first) * quads + t;
    sums += (size_t)sample * 2 * groups;

    // Copies need no registers, so all pixels of a thread are in flight together, also while the block waits below.
    // Neighbouring lanes have neighbouring channels, whatever groups these belong to.
#pragma unroll
    for (int k = 0; k < DEEP; ++k) {
        if (k < mine)
            __pipeline_memcpy_async(tile + k * threads + t, x + start + (size_t)k * threads, 16);
        __pipeline_commit();
    }

    if (late) {
        // Blocks begin in ascending order: all that this one waits for have begun before, and wait for nobody.
        // YOUR CODE: wait until all slices of the sample are measured. Who looks, and who may go on?

        double share = 1.0 / ((double)pixels * width);
        float2 of_group[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            of_group[i] = finish(sums, (4 * quad + i) / width, share, eps);
        float4 mean = {of_group[0].x, of_group[1].x, of_group[2].x, of_group[3].x};
        float4 scale = gamma[quad] * float4{of_group[0].y, of_group[1].y, of_group[2].y, of_group[3].y};
        float4 shift = beta[quad];

        // Pixel by pixel, as they arrive. Each thread reads only what it has copied itself: no barrier.
#pragma unroll
        for (int k = 0; k < DEEP; ++k) {
            __pipeline_wait_prior(DEEP - 1 - k);
            if (k < mine)
                y[start + (size_t)k * threads] = (tile[k * threads + t] - mean) * scale + shift;
        }
        return;
    }

    // YOUR CODE: each channel by itself, as its pixels arrive: the mean so far, and the squares around it.
    // YOUR CODE: sum of x and of x² for each group, as doubles, added to sums[2 * g] and sums[2 * g + 1].
    // YOUR CODE: count the slice.
}
