// out = x - slope * column, the same ramp off every row.

__device__ double without_drift(const float* x, double slope, long long cols, unsigned long long i)
{
    return (double)x[i] - slope * (double)(i % cols);
}

extern "C" __global__ void check_remove_drift(const float* x, const float* out, double slope, long long rows,
                                              long long cols, double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < rows * cols; i += step) {
        double expected = without_drift(x, slope, cols, i);
        tally.judge(out[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_remove_drift(const float* x, double slope, long long cols, const Findings* findings,
                                                Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, without_drift(x, slope, cols, i)};
}
