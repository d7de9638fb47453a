// expect: technique
// A thread for each row: neighbouring lanes are a row apart.

// launch softmax_backward(y, dy, dx, rows, cols): grid=cdiv(rows, 64) block=64

extern "C" __global__ void softmax_backward(const float* y, const float* dy, float* dx, int rows, int cols)
{
    int row = blockIdx.x * 64 + threadIdx.x;
    if (row >= rows)
        return;
    size_t start = (size_t)row * cols;
    float part[4] = {};
    for (int i = 0; i < cols; i += 4)
        for (int k = 0; k < 4; ++k)
            part[k] += y[start + i + k] * dy[start + i + k];
    float sum = (part[0] + part[1]) + (part[2] + part[3]);
    for (int i = 0; i < cols; ++i)
        dx[start + i] = y[start + i] * (dy[start + i] - sum);
}
