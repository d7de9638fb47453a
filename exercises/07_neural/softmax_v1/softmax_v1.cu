// softmax_v1: each row of x becomes positive numbers that add up to 1, in three passes over the row.
//
// One block works on one row: thread 0 takes columns 0, 256, 512, …, thread 1 takes 1, 257, 513, …, and so on.

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
    // YOUR CODE: add up partial[0] … partial[BLOCK - 1]
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

    // YOUR CODE: pass 1 finds the row's largest value, pass 2 the sum of expf(value - largest), pass 3 writes out[c]
}
