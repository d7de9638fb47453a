// out = gain * x + offset, element by element.

__device__ double calibrated(const float* x, double gain, double offset, unsigned long long i)
{
    return gain * (double)x[i] + offset;
}

extern "C" __global__ void check_calibrate(const float* x, const float* out, double gain, double offset, long long n,
                                           double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) {
        double expected = calibrated(x, gain, offset, i);
        tally.judge(out[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_calibrate(const float* x, double gain, double offset, const Findings* findings,
                                             Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, calibrated(x, gain, offset, i)};
}
