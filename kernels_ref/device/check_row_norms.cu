// Layer norm and RMS norm of each row, in float64: one block of 256 threads a row.

__device__ double row_mean(const float* x, long long cols)
{
    double sum = 0.0;
    for (long long c = threadIdx.x; c < cols; c += 256)
        sum += x[c];
    return block_sum(sum) / cols;
}

// 1 / √(mean of the squared distances from `from` + eps).
template <typename Of>
__device__ double row_scale(Of value, double from, long long cols, double eps)
{
    double sum = 0.0;
    for (long long c = threadIdx.x; c < cols; c += 256)
        sum += (value(c) - from) * (value(c) - from);
    return 1.0 / sqrt(block_sum(sum) / cols + eps);
}

struct LayerNorm {
    const float *x, *gamma, *beta;
    double mean, scale;
    __device__ LayerNorm(const float* x, const float* gamma, const float* beta, double eps, long long cols)
        : x(x), gamma(gamma), beta(beta), mean(row_mean(x, cols)),
          scale(row_scale([=](long long c) { return (double)x[c]; }, mean, cols, eps))
    {
    }
    __device__ double value(long long c) const { return (x[c] - mean) * scale * gamma[c] + beta[c]; }
};

extern "C" __global__ void check_layer_norm(const float* x, const float* gamma, const float* beta, const float* y,
                                            double eps, long long cols, double relative, double absolute,
                                            Findings* findings)
{
    long long start = blockIdx.x * cols;
    LayerNorm row(x + start, gamma, beta, eps, cols);
    Tally tally;
    for (long long c = threadIdx.x; c < cols; c += 256) {
        double expected = row.value(c);
        tally.judge(y[start + c], expected, absolute + relative * fabs(expected), start + c);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_layer_norm(const float* x, const float* gamma, const float* beta, double eps,
                                              long long cols, const Findings* findings, Explanation* explanation)
{
    long long first = findings->first;
    LayerNorm row(x + first / cols * cols, gamma, beta, eps, cols);
    if (threadIdx.x == 0)
        *explanation = {(double)first, row.value(first % cols)};
}

struct RmsNorm {
    const float *x, *residual, *weight;
    double scale;
    __device__ RmsNorm(const float* x, const float* residual, const float* weight, double eps, long long cols)
        : x(x), residual(residual), weight(weight),
          scale(row_scale([=](long long c) { return (double)x[c] + residual[c]; }, 0.0, cols, eps))
    {
    }
    __device__ double sum(long long c) const { return (double)x[c] + residual[c]; }
    __device__ double value(long long c) const { return sum(c) * scale * weight[c]; }
};

// Indices count through h, then through y.
extern "C" __global__ void check_rms_norm(const float* x, const float* residual, const float* weight, const float* h,
                                          const float* y, double eps, long long rows, long long cols, double relative,
                                          double absolute, Findings* findings)
{
    long long start = blockIdx.x * cols;
    RmsNorm row(x + start, residual + start, weight, eps, cols);
    Tally tally;
    for (long long c = threadIdx.x; c < cols; c += 256) {
        tally.judge(h[start + c], row.sum(c), absolute + relative * fabs(row.sum(c)), start + c);
        tally.judge(y[start + c], row.value(c), absolute + relative * fabs(row.value(c)), rows * cols + start + c);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_rms_norm(const float* x, const float* residual, const float* weight, double eps,
                                            long long rows, long long cols, const Findings* findings,
                                            Explanation* explanation)
{
    long long first = findings->first, place = first % (rows * cols);
    long long start = place / cols * cols;
    RmsNorm row(x + start, residual + start, weight, eps, cols);
    if (threadIdx.x == 0)
        *explanation = {(double)first, first < rows * cols ? row.sum(place - start) : row.value(place - start)};
}
