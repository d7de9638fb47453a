// expect: wrong
// The maximum is not subtracted: expf overflows from 88.8 on, and inf / inf is no number.

// launch softmax_v1(x, y, rows, cols): grid=rows block=BLOCK

#include <math.h>

#define BLOCK 256

// The largest of the block's values, returned to every thread. It is complete: the sum below has the same shape.
__device__ float block_max(float value, float* partial)
{
    int tid = threadIdx.x;
    partial[tid] = value;
    __syncthreads();  // all values are in place before anyone reads a neighbour's
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (tid < s)
            partial[tid] = fmaxf(partial[tid], partial[tid + s]);
        __syncthreads();  // this round is written before the next one reads it; all threads come here, not only tid < s
    }
    float result = partial[0];
    __syncthreads();  // everyone has read partial[0] before the next reduction writes there
    return result;
}

// The sum of the block's values, returned to every thread.
__device__ float block_sum(float value, float* partial)
{
    int tid = threadIdx.x;
    partial[tid] = value;
    __syncthreads();  // all values are in place before anyone reads a neighbour's
    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (tid < s)
            partial[tid] += partial[tid + s];
        __syncthreads();  // this round is written before the next one reads it
    }
    float result = partial[0];
    __syncthreads();  // everyone has read partial[0] before a later reduction writes there
    return result;
}

extern "C" __global__ void softmax_v1(const float* x, float* y, int rows, int cols)
{
    __shared__ float partial[BLOCK];

    // Row r starts r * cols floats into the array; size_t, because that product may pass 2^31.
    const float* in = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;

    // Pass 1: the sum.
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += BLOCK)
        sum += expf(in[c]);
    sum = block_sum(sum, partial);

    // Pass 2: the result.
    for (int c = threadIdx.x; c < cols; c += BLOCK)
        out[c] = expf(in[c]) / sum;
}
