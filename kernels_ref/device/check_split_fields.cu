// planes holds the n particles' fields one after the other: its element f * n + i is field f of particle i.

__device__ double field(const float* particles, long long index, long long n)
{
    return particles[4 * (index % n) + index / n];
}

extern "C" __global__ void check_split_fields(const float* particles, const float* planes, long long n,
                                              double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < 4 * n; i += step) {
        double expected = field(particles, i, n);
        tally.judge(planes[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_split_fields(const float* particles, long long n, const Findings* findings,
                                                Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, field(particles, i, n)};
}
