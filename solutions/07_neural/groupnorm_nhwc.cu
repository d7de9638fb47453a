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
        if (t == 0) {
            while (*(volatile int*)(done + sample) < slices)
                ;
            __threadfence();  // the sums are not read before
        }
        __syncthreads();  // nobody goes on before thread 0 has seen all slices

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

    // Each channel by itself, as its pixels arrive: the mean so far, and the squares around it (Welford).
    float4 mean = {};
    float4 squares = {};
#pragma unroll
    for (int k = 0; k < DEEP; ++k) {
        __pipeline_wait_prior(DEEP - 1 - k);
        if (k < mine) {
            float4 v = tile[k * threads + t];
            float4 d = v - mean;
            mean = mean + d * (1.0f / (k + 1));
            squares = squares + d * (v - mean);
        }
    }
    tile[t] = mean;  // in the place of the thread's own pixels
    tile[threads + t] = squares;
    __syncthreads();  // a channel has pixels of several threads

    // Each channel over the rows of threads: sum of x and of x², as doubles.
    const float* means = reinterpret_cast<const float*>(tile);
    double* of_channel = reinterpret_cast<double*>(tile + 2 * threads);
    int channels = 4 * quads;
    for (int c = t; c < channels; c += threads) {
        double sum = 0.0;
        double square = 0.0;
#pragma unroll 4
        for (int r = 0; r < rows; ++r) {
            double n = (count - r + rows - 1) / rows;  // pixels of a thread in this row
            double m = means[r * channels + c];
            sum += n * m;
            square += means[4 * threads + r * channels + c] + n * m * m;
        }
        of_channel[2 * c] = sum;
        of_channel[2 * c + 1] = square;
    }
    __syncthreads();  // a group has several channels

    // Both sums of each group over its channels.
    for (int i = t; i < 2 * groups; i += threads) {
        double sum = 0.0;
#pragma unroll 4
        for (int c = 0; c < width; ++c)
            sum += of_channel[2 * (i / 2 * width + c) + i % 2];
        atomicAdd(sums + i, sum);
    }
    __syncthreads();  // all groups of this slice are added
    if (t == 0) {
        __threadfence();  // whoever sees the count sees the sums
        atomicAdd(done + sample, 1);
    }
}
