// Records of four fields, taken apart or joined: what `field` of the file in front of this one gives.

extern "C" __global__ void check_fields(const float* from, const float* to, long long n,
                                        double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < 4 * n; i += step) {
        double expected = field(from, i, n);
        tally.judge(to[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_fields(const float* from, long long n, const Findings* findings,
                                          Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, field(from, i, n)};
}
