// groupnorm_nhwc: each group of channels of each sample gets mean 0 and variance 1, then times gamma, plus beta. The
// channels of a pixel are neighbours in memory. x is read once: a sample stays on the chip, in the registers of many
// blocks, until all of them know its sums.
//
// A slice is DEEP pixels for each thread of a block, with all of their channels. The slices of a sample belong to as
// many blocks, which are on the chip together and wait for each other. Meanwhile the next sample arrives in shared memory.

#include <cuda_pipeline_primitives.h>

#define AIM 320  // threads of a block: as many pixels side by side as fit
#define DEEP 16  // pixels of a thread: 64 registers hold one sample's, and shared memory the next one's

// For each sample: sum of x and sum of x² for each group, and then the number of slices that are added.
// scratch sums: double[samples * (2 * groups + 1)]
// zero sums
// launch groupnorm_nhwc(x, gamma, beta, y, sums, samples, pixels, groups, width, eps): grid=max(1, min(samples, 2 * sm_count / cdiv(pixels, DEEP * (4 * AIM / (groups * width))))) * cdiv(pixels, DEEP * (4 * AIM / (groups * width))) block=(groups * width / 4, 4 * AIM / (groups * width)) shared=16 * (DEEP + 2) * AIM + 16 * groups * width + 8 * groups

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

// One slice of every sample that is this block's turn. FULL: each thread has DEEP pixels, so that no load and no store
// needs a condition.
template <bool FULL>
__device__ void normalise(const float4* x, const float4* gamma, const float4* beta, float4* y, double* sums,
                          int samples, int pixels, int groups, int width, float eps)
{
    extern __shared__ float4 tile[];  // of each thread DEEP pixels, which no other thread touches
    float4* means = tile + DEEP * AIM;
    float4* squares = means + AIM;
    double* of_channel = reinterpret_cast<double*>(squares + AIM);
    int quad = threadIdx.x;  // of channels, the same in all pixels of a thread
    int quads = blockDim.x;
    int rows = blockDim.y;
    int threads = quads * rows;
    int channels = 4 * quads;
    int t = threadIdx.y * quads + quad;
    float2* of_group = reinterpret_cast<float2*>(of_channel + 2 * channels);

    int slices = (pixels + DEEP * rows - 1) / (DEEP * rows);
    int first = blockIdx.x % slices * DEEP * rows;
    int count = min(DEEP * rows, pixels - first);
    int mine = (count - (int)threadIdx.y + rows - 1) / rows;
    int start = first * quads + t;
    int sample = blockIdx.x / slices;
    int at_once = gridDim.x / slices;

    // Copies need no registers: a whole slice is in flight while its predecessor is worked on. Neighbouring lanes have
    // neighbouring channels, whatever groups these belong to.
    auto fetch = [&](int sample) {
        const float4* from = x + (size_t)sample * pixels * quads + start;
#pragma unroll
        for (int k = 0; k < DEEP; ++k)
            if (FULL || k < mine)
                __pipeline_memcpy_async(tile + k * AIM + t, from + k * threads, 16);
        __pipeline_commit();
    };

    fetch(sample);

    double share = 1.0 / ((double)pixels * width);
    for (; sample < samples; sample += at_once) {
        // Each thread reads only what it has copied itself: no barrier. Its places are free for the next sample then.
        __pipeline_wait_prior(0);
        float4 v[DEEP];
#pragma unroll
        for (int k = 0; k < DEEP; ++k)
            if (FULL || k < mine)
                v[k] = tile[k * AIM + t];
        if (sample + at_once < samples)
            fetch(sample + at_once);

        // YOUR CODE: each channel by itself: the mean of the thread's pixels, and the squares around it.
        // YOUR CODE: sum of x and of x² for each group, as doubles, added to those of the sample.
        double* of_sample = sums + (size_t)sample * (2 * groups + 1);

        // The first warp waits for the other slices. Blocks begin in ascending order, and those of a sample fit on the
        // chip together: each of them is running, or will be soon.
        if (t < 32) {
            // YOUR CODE: count the slice, and wait until all slices of the sample are counted.
            __syncwarp();
            for (int g = t; g < groups; g += 32)
                of_group[g] = finish(of_sample, g, share, eps);
        }
        __syncthreads();  // mean and scale of all groups are there

        int g[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            g[i] = (4 * quad + i) / width;
        float4 center = {of_group[g[0]].x, of_group[g[1]].x, of_group[g[2]].x, of_group[g[3]].x};
        float4 scale = gamma[quad] * float4{of_group[g[0]].y, of_group[g[1]].y, of_group[g[2]].y, of_group[g[3]].y};
        float4 shift = beta[quad];
        float4* to = y + (size_t)sample * pixels * quads + start;
#pragma unroll
        for (int k = 0; k < DEEP; ++k)
            if (FULL || k < mine)
                to[k * threads] = (v[k] - center) * scale + shift;
    }
}

extern "C" __global__ void __launch_bounds__(AIM, 2)
groupnorm_nhwc(const float4* x, const float4* gamma, const float4* beta, float4* y, double* sums, int samples,
               int pixels, int groups, int width, float eps)
{
    // Only the last slice of a sample may have fewer pixels.
    int each = DEEP * blockDim.y;
    int slice = blockIdx.x % ((pixels + each - 1) / each);
    if ((slice + 1) * each <= pixels)
        normalise<true>(x, gamma, beta, y, sums, samples, pixels, groups, width, eps);
    else
        normalise<false>(x, gamma, beta, y, sums, samples, pixels, groups, width, eps);
}
