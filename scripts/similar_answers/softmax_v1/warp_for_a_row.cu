// A warp for each row; lanes keep a running maximum, then a sum, both folded by shuffles.
// launch softmax_v1(x, y, rows, cols): grid=cdiv(rows, 8) block=256

#define FULL 0xffffffffu

extern "C" __global__ void softmax_v1(const float* x, float* y, int rows, int cols)
{
    const int lane = threadIdx.x & 31;
    const int row = blockIdx.x * 8 + (threadIdx.x >> 5);
    if (row >= rows)
        return;
    x += (size_t)row * cols;
    y += (size_t)row * cols;

    float biggest = -INFINITY;
    for (int j = lane; j < cols; j += 32)
        biggest = max(biggest, x[j]);
    for (int d = 16; d; d >>= 1)
        biggest = max(biggest, __shfl_xor_sync(FULL, biggest, d));

    float total = 0;
    for (int j = lane; j < cols; j += 32)
        total += expf(x[j] - biggest);
    for (int d = 16; d; d >>= 1)
        total += __shfl_xor_sync(FULL, total, d);

    for (int j = lane; j < cols; j += 32)
        y[j] = expf(x[j] - biggest) / total;
}
