// expect: technique
// One thread walks over a row by itself: the lanes of a warp are whole rows apart, and each brings its own sector.

// launch softmax_v1(x, y, rows, cols): grid=cdiv(rows, 128) block=128

#include <math.h>

extern "C" __global__ void softmax_v1(const float* x, float* y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    const float* in = x + (size_t)r * cols;
    float* out = y + (size_t)r * cols;

    float largest = -INFINITY;
    for (int c = 0; c < cols; ++c)
        largest = fmaxf(largest, in[c]);
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c)
        sum += expf(in[c] - largest);
    float scale = 1.0f / sum;
    for (int c = 0; c < cols; ++c)
        out[c] = expf(in[c] - largest) * scale;
}
