// expect: technique
// One thread walks over a row by itself: the lanes of a warp are whole rows apart, and each brings its own sector.

// launch rmsnorm(x, residual, weight, h, y, rows, cols, eps): grid=cdiv(rows, 128) block=128

extern "C" __global__ void rmsnorm(const float* x, const float* residual, const float* weight, float* h, float* y, int rows,
                                   int cols, float eps)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    size_t start = (size_t)r * cols;
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c) {
        float v = x[start + c] + residual[start + c];
        h[start + c] = v;
        sum += v * v;
    }
    float scale = rsqrtf(sum / cols + eps);
    for (int c = 0; c < cols; ++c)
        y[start + c] = h[start + c] * scale * weight[c];
}
