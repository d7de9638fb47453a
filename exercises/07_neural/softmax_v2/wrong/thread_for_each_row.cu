// expect: technique
// One thread walks over a row by itself: the lanes of a warp are whole rows apart, and each brings its own sector.

// launch softmax_v2(x, y, rows, cols): grid=cdiv(rows, 128) block=128

#include <float.h>

extern "C" __global__ void softmax_v2(const float* x, float* y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    const float* in = x + (size_t)r * cols;
    float* out = y + (size_t)r * cols;

    float largest = -FLT_MAX, sum = 0.0f;
    for (int c = 0; c < cols; ++c) {
        float next = fmaxf(largest, in[c]);
        sum = sum * __expf(largest - next) + __expf(in[c] - next);
        largest = next;
    }
    for (int c = 0; c < cols; ++c)
        out[c] = __expf(in[c] - largest) / sum;
}
