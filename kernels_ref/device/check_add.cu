// c = a + b, element by element.

extern "C" __global__ void check_add(const float* a, const float* b, const float* c, long long n, double relative,
                                     double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) {
        double expected = (double)a[i] + (double)b[i];
        tally.judge(c[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_add(const float* a, const float* b, const Findings* findings, Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, (double)a[i] + (double)b[i]};
}
