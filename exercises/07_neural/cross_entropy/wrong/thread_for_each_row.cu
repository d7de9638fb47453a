// expect: sim=technique gpu=slow
// One thread goes along a row by itself: the lanes of a warp are whole rows apart.

// launch cross_entropy(logits, labels, loss, rows, cols): grid=cdiv(rows, 128) block=128

#include <math.h>

extern "C" __global__ void cross_entropy(const float* logits, const int* labels, float* loss, int rows, int cols)
{
    int r = blockIdx.x * 128 + threadIdx.x;
    if (r >= rows)
        return;
    const float* x = logits + (size_t)r * cols;
    float largest = -3.402823466e38f, sum = 0.0f;
    for (int c = 0; c < cols; ++c) {
        float next = fmaxf(largest, x[c]);
        sum = sum * __expf(largest - next) + __expf(x[c] - next);
        largest = next;
    }
    loss[r] = labels[r] < 0 ? 0.0f : largest - x[labels[r]] + logf(sum);
}
