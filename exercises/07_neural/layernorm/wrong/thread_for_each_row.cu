// expect: sim=technique
// One thread walks over a row by itself: the lanes of a warp are whole rows apart, and each brings its own sector.

// launch layernorm(x, gamma, beta, y, rows, cols, eps): grid=cdiv(rows, 128) block=128

// Sums of 32 terms first: one chain for a whole row would be too long.
template <typename Of>
__device__ float sum_of(int n, Of value)
{
    float sum = 0.0f;
    for (int i = 0; i < n; i += 32) {
        float part = 0.0f;
        for (int j = i; j < min(i + 32, n); ++j)
            part += value(j);
        sum += part;
    }
    return sum;
}

extern "C" __global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, int rows, int cols,
                                     float eps)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    x += (size_t)r * cols;
    y += (size_t)r * cols;
    float mean = sum_of(cols, [=](int c) { return x[c]; }) / cols;
    float scale = rsqrtf(sum_of(cols, [=](int c) { return (x[c] - mean) * (x[c] - mean); }) / cols + eps);
    for (int c = 0; c < cols; ++c)
        y[c] = (x[c] - mean) * scale * gamma[c] + beta[c];
}
