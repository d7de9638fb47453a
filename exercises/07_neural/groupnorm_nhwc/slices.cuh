// Given with groupnorm_nhwc: arithmetic of packs, copies to shared memory, mean and squares of portions, and the words by
// which blocks tell each other what they have measured.

#pragma once

#include <cuda_pipeline_primitives.h>

#define TEAM 8      // groups that a block works on: any 8 groups begin at a multiple of 32 bytes
#define BLOCKS 512  // of a launch, at most: one for each multiprocessor, or those of a large sample

__device__ float4 operator+(float4 u, float4 v) { return {u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w}; }
__device__ float4 operator-(float4 u, float4 v) { return {u.x - v.x, u.y - v.y, u.z - v.z, u.w - v.w}; }
__device__ float4 operator*(float4 u, float4 v) { return {u.x * v.x, u.y * v.y, u.z * v.z, u.w * v.w}; }
__device__ float4 operator*(float4 v, float s) { return {v.x * s, v.y * s, v.z * s, v.w * s}; }

// A copy of `bytes` bytes, 16 or none, to shared memory; the rest of 16 bytes becomes 0. Its lines are the last to leave the
// L2: nobody reads them again, but then lines that have been written leave it first. On an H200 memory is read and
// written at once 2 % faster so. GPUs before sm_80 know no cache policies.
__device__ void copy(float4* to, const float4* from, int bytes)
{
#if __CUDA_ARCH__ < 800
    __pipeline_memcpy_async(to, from, 16, 16 - bytes);
#else
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(
                     (unsigned int)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(bytes), "l"(policy)
                 : "memory");
#endif
}

// The mean of many values and the squares around it, from those of portions. Each lane of a warp adds some portions.
struct Moments {
    float near;            // a number near the values: sums of differences from it keep their digits
    float sum = 0.0f;      // of x - near
    float squares = 0.0f;  // of (x - near)²

    __device__ void add(float n, float mean, float around_mean)
    {
        sum += n * (mean - near);
        squares += around_mean + n * (mean - near) * (mean - near);
    }

    // Of all lanes; share is 1 over the number of values.
    __device__ float2 finish(float share)
    {
#pragma unroll
        for (int s = 16; s > 0; s /= 2) {
            sum += __shfl_xor_sync(0xffffffff, sum, s);
            squares += __shfl_xor_sync(0xffffffff, squares, s);
        }
        return {near + sum * share, squares - sum * share * sum};
    }
};

// What blocks know about their slices: of each group the mean, and the squares around it. The upper half of a word is the
// number of the iteration, which no other one of this launch or an earlier one has; the lower half is a float. One store
// writes both: no fence is needed, and nobody has to clear words. Four iterations have words of their own: while a block
// reads those of one, others may have published three more.
__device__ volatile unsigned long long published[4 * BLOCKS * TEAM][2];

// In the upper half the iterations of all earlier launches, in the lower half how many blocks of this one have begun.
__device__ unsigned long long counter = 0;

// The iterations of all earlier launches. One thread of each block calls it.
__device__ unsigned int count_launch(int iterations)
{
    unsigned int blocks = gridDim.x * gridDim.y * gridDim.z;
    unsigned long long drawn = atomicAdd(&counter, 1ull);
    if ((unsigned int)drawn == blocks - 1)  // the last block: the next launch begins with none
        atomicAdd(&counter, ((unsigned long long)iterations << 32) - blocks);
    return drawn >> 32;
}
