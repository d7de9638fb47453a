// out is what `saxpy` of the file in front of this one gives, element by element.

extern "C" __global__ void check_saxpy(const float* x, const float* y, const float* out, double alpha, long long n,
                                       double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) {
        double expected = saxpy(x, y, alpha, i, n);
        tally.judge(out[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_saxpy(const float* x, const float* y, double alpha, long long n,
                                         const Findings* findings, Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, saxpy(x, y, alpha, i, n)};
}
