// out = min(1, max_norm / (norm + 1e-6)) · g, with the norm of all of g. Elements are counted through out, then norm.

extern "C" __global__ void partial_squares(const float* g, long long n, double* partial)
{
    double sum = 0.0;
    long long step = (long long)gridDim.x * 256;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += step)
        sum += (double)g[i] * g[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

__device__ double norm_of(const double* partial, long long blocks)
{
    double sum = 0.0;
    for (long long i = threadIdx.x; i < blocks; i += 256)
        sum += partial[i];
    return sqrt(block_sum(sum));
}

__device__ double scale_of(double norm, double max_norm)
{
    // The limit reaches the kernel as a float.
    return fmin(1.0, (float)max_norm / (norm + 1e-6));
}

extern "C" __global__ void check_clipped(const float* g, const float* out, const float* norm, long long n,
                                         double max_norm, const double* partial, long long blocks, double relative,
                                         double absolute, Findings* findings)
{
    double length = norm_of(partial, blocks), scale = scale_of(length, max_norm);
    Tally tally;
    long long threads = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += threads) {
        double expected = scale * g[i];
        tally.judge(out[i], expected, absolute + relative * fabs(expected), i);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        tally.judge(norm[0], length, absolute + relative * length, n);
    tally.merge(findings);
}

extern "C" __global__ void explain_clipped(const float* g, long long n, double max_norm, const double* partial,
                                           long long blocks, const Findings* findings, Explanation* explanation)
{
    double length = norm_of(partial, blocks);
    long long i = findings->first;
    if (threadIdx.x == 0)
        *explanation = {(double)i, i < n ? scale_of(length, max_norm) * g[i] : length};
}
