// gelu_bias_dropout: y = dropout(gelu(x + bias)), and a mask with one bit for each element: 1 where it is kept.

// launch gelu_bias_dropout(x, bias, y, mask, rows, cols, seed, offset, p): grid=(cdiv(cols, 4*BLOCK), cdiv(rows, ROWS)) block=BLOCK

#include "load_kept.cuh"  // given: load_kept, with which memory reads and writes at once a little faster
#include "philox.cuh"

#define BLOCK 256
#define ROWS 2

// GELU with tanh: x / 2 · (1 + tanh(u)) with u = sqrt(2/π) · (x + 0.044715 x³).
__device__ float gelu(float x)
{
    return 0.0f;  // YOUR CODE
}

extern "C" __global__ void __launch_bounds__(BLOCK) gelu_bias_dropout(const float* x, const float* bias, float* y,
                                                                      unsigned int* mask, int rows, int cols, int seed,
                                                                      int offset, float p)
{
    int c = blockIdx.x * BLOCK + threadIdx.x, packs = cols / 4;
    int first = blockIdx.y * ROWS;

    // YOUR CODE: pack c of rows first … first + ROWS - 1: four results for each call of the generator.

    // YOUR CODE: collect the bits of eight lanes into one word, and store it.
}
