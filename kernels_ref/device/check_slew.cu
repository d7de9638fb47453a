// Each row of y follows its row of x from 0, by at most `rate` from one sample to the next. A thread has a row.

__device__ double follow(double x, double last, double rate) { return fmax(fmin(x, last + rate), last - rate); }

extern "C" __global__ void check_slew(const float* x, const float* y, double rate, long long rows, long long cols,
                                      double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    double last = 0.0;
    if (row < rows)
        for (long long i = row * cols; i < (row + 1) * cols; ++i) {
            last = follow(x[i], last, rate);
            tally.judge(y[i], last, absolute + relative * fabs(last), i);
        }
    tally.merge(findings);
}

extern "C" __global__ void explain_slew(const float* x, double rate, long long cols, const Findings* findings,
                                        Explanation* explanation)
{
    unsigned long long bad = findings->first;
    double last = 0.0;
    for (unsigned long long i = bad / cols * cols; i <= bad; ++i)
        last = follow(x[i], last, rate);
    *explanation = {(double)bad, last};
}
