// groupnorm_nhwc: each group of channels of each sample gets mean 0 and variance 1, then times gamma, plus beta. The
// channels of a pixel are neighbours in memory. x is read once: it stays on the chip, in the registers of many blocks,
// until all of them know mean and variance.
//
// A team of blocks has up to TEAM groups of a sample; each of its blocks has a slice, DEEP pixels for each thread. In an
// iteration a block works on slices of three samples, so that neither it nor memory waits for the rest of the team:
//
//     sample + at_once    is on its way to shared memory
//     sample              is measured, and the results are published
//     sample - at_once    is normalised, with what the team published an iteration ago

#include "slices.cuh"  // given: packs, copies, moments, and words for other blocks

#define AIM 320  // threads of a block: as many pixels side by side as fit
#define DEEP 16  // pixels of a thread

// launch groupnorm_nhwc(x, gamma, beta, y, samples, pixels, groups, width, eps): grid=(cdiv(pixels, DEEP * (4 * AIM / (min(groups, TEAM) * width))), cdiv(groups, TEAM), max(1, min(samples, sm_count / (cdiv(pixels, DEEP * (4 * AIM / (min(groups, TEAM) * width))) * cdiv(groups, TEAM))))) block=(min(groups, TEAM) * width / 4, 4 * AIM / (min(groups, TEAM) * width)) shared=16 * (DEEP + 2) * AIM + 16 * min(groups, TEAM) * width + 4

extern "C" __global__ void __launch_bounds__(AIM, 1)
groupnorm_nhwc(const float4* x, const float4* gamma, const float4* beta, float4* y, int samples, int pixels, int groups,
               int width, float eps)
{
    extern __shared__ float4 tile[];  // of each thread DEEP pixels, which no other thread touches
    float4* means = tile + DEEP * AIM;
    float4* squares = means + AIM;
    float4* gammas = squares + AIM;  // of this block's channels, and so are the next three
    float4* betas = gammas + blockDim.x;
    float4* centers = betas + blockDim.x;
    float4* scales = centers + blockDim.x;
    unsigned int* before_launch = reinterpret_cast<unsigned int*>(scales + blockDim.x);
    int quad = threadIdx.x;  // of channels, the same in all pixels of a thread
    int quads = blockDim.x;
    int rows = blockDim.y;
    int t = threadIdx.y * quads + quad;
    int lane = t % 32;
    int warps = quads * rows / 32;              // without one that is not full
    int warp = t / 32 < warps ? t / 32 : TEAM;  // that one has no group

    int ours = min(TEAM, groups - TEAM * (int)blockIdx.y);  // groups of the team
    int pitch = groups * width / 4;
    int slices = gridDim.x;
    int at_once = gridDim.z;
    int first = blockIdx.x * DEEP * rows;
    int count = min(DEEP * rows, pixels - first);
    int most = (count + rows - 1) / rows;  // pixels of a thread, in the first rows of threads
    int full = count - (most - 1) * rows;  // so many rows; threads of the others have one pixel less
    int mine = 4 * quad < ours * width ? most - ((int)threadIdx.y >= full) : 0;
    int start = (first + threadIdx.y) * pitch + blockIdx.y * quads + quad;

    // Copies need no registers: a whole slice is in flight while others are worked on.
    auto fetch = [&](int sample) {
        const float4* from = x + (size_t)sample * pixels * pitch + start;
#pragma unroll
        for (int k = 0; k < DEEP; ++k)
            copy(tile + k * AIM + t, from + k * rows * pitch, k < mine ? 16 : 0);
        __pipeline_commit();
    };
    // The words of a group, a pair for each slice.
    auto words_of = [&](int iteration, int g) {
        return published + (((iteration % 4 * at_once + blockIdx.z) * gridDim.y + blockIdx.y) * TEAM + g) * slices;
    };

    fetch(blockIdx.z);
    if (t == 0)
        *before_launch = count_launch((samples + at_once - 1) / at_once);
    if (threadIdx.y == 0 && mine > 0) {
        gammas[quad] = gamma[blockIdx.y * quads + quad];
        betas[quad] = beta[blockIdx.y * quads + quad];
    }

    // A warp that sums over a group of the slice takes `down` rows of `across` channels at a time.
    int across = min(width, 32);
    int down = 32 / across;
    int row = lane < across * down ? lane / across : rows;
    int column = lane % across;

    float4 v[DEEP];  // of the sample before
    int iteration = 0;
    for (int sample = blockIdx.z; sample - at_once < samples; sample += at_once, ++iteration) {
        int before = sample - at_once;

        // The way to the L2 and back is long while so much is in flight: ask now, look at the answer later.
        unsigned long long mean_word = 0;
        unsigned long long squares_word = 0;
        if (before >= 0 && warp < ours && lane < slices) {
            mean_word = words_of(iteration - 1, warp)[lane][0];
            squares_word = words_of(iteration - 1, warp)[lane][1];
        }

        float4 u[DEEP];
        if (sample < samples) {
            // Each thread reads only what it has copied itself: no barrier. Its places are free for the next sample then.
            // YOUR CODE: each channel by itself: the mean of the thread's pixels, and the squares around it.
            __pipeline_wait_prior(0);
#pragma unroll
            for (int k = 0; k < DEEP; ++k) {
                u[k] = tile[k * AIM + t];
            }
            if (sample + at_once < samples)
                fetch(sample + at_once);
        }
        __syncthreads();  // a group has channels of several threads
        unsigned int stamp = *before_launch + iteration + 1;

        // YOUR CODE: a warp for each group of the slice: its mean, and the squares around it. Publish both.

        // YOUR CODE: a warp for each group of the sample before: wait for all slices; center and scale of its channels.
        __syncthreads();  // center and scale of all channels are there

        // YOUR CODE: y of the sample before, from v. Pixel k of a thread is at `start + k * rows * pitch` in its sample.
#pragma unroll
        for (int k = 0; k < DEEP; ++k)
            v[k] = u[k];
    }
}
