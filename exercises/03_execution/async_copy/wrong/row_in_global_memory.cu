// expect: sim=technique
// A thread goes along its row in global memory: the lanes of a warp use 4 bytes of 32 sectors.

// launch async_copy(x, y, rate, rows, cols): grid=cdiv(rows, 64) block=64

extern "C" __global__ void async_copy(const float* x, float* y, float rate, int rows, int cols)
{
    size_t row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float last = 0.0f;
    for (size_t i = row * cols; i < (row + 1) * cols; ++i)
        y[i] = last = fmaxf(fminf(x[i], last + rate), last - rate);
}
