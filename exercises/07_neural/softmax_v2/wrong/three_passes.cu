// expect: technique
// softmax_v1's solution: the largest value first, then the sum, so that the row is read three times.

// softmax_v2: each row of x becomes positive numbers that add up to 1, in three passes over the row.
//
// One block works on one row: thread 0 takes columns 0, 256, 512, …, thread 1 takes 1, 257, 513, …, and so on.

// launch softmax_v2(x, y, rows, cols): grid=rows block=BLOCK

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

extern "C" __global__ void softmax_v2(const float* x, float* y, int rows, int cols)
{
    __shared__ float partial[BLOCK];

    // Row r starts r * cols floats into the array; size_t, because that product may pass 2^31.
    const float* in = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;

    // Pass 1: the largest value. A thread without a column keeps -INFINITY, which changes no maximum.
    float largest = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += BLOCK)
        largest = fmaxf(largest, in[c]);
    largest = block_max(largest, partial);

    // Pass 2: the sum. No exponent is above 0, so no term is above 1, and the largest value's own term is exactly 1.
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += BLOCK)
        sum += expf(in[c] - largest);
    sum = block_sum(sum, partial);

    // Pass 3: the result. Every thread has the same largest and the same sum in registers: nothing is left to share.
    // One division for the row, then a product for each element: an exact division takes a dozen instructions.
    float scale = 1.0f / sum;
    for (int c = threadIdx.x; c < cols; c += BLOCK)
        out[c] = expf(in[c] - largest) * scale;
}
