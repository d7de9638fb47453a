// out is the picture of m stars: 1 - exp(-sum of light / (1 + sharp · r²)), pixel by pixel.

__device__ double film(const float* x, const float* y, const float* light, double pitch, double sharp, long long m,
                       double row, double col)
{
    double sum = 0.0;
    for (long long j = 0; j < m; ++j) {
        double dx = col * pitch - x[j], dy = row * pitch - y[j];
        sum += light[j] / (1.0 + sharp * (dx * dx + dy * dy));
    }
    return 1.0 - exp(-sum);
}

extern "C" __global__ void check_stars(const float* x, const float* y, const float* light, const float* out,
                                       double pitch, double sharp, long long rows, long long cols, long long m,
                                       double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < rows * cols; i += step) {
        double expected = film(x, y, light, pitch, sharp, m, i / cols, i % cols);
        tally.judge(out[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_stars(const float* x, const float* y, const float* light, double pitch, double sharp,
                                         long long cols, long long m, const Findings* findings,
                                         Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, film(x, y, light, pitch, sharp, m, i / cols, i % cols)};
}
