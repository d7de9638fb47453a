// out is how many hares an island has after all steps, from its hares and foxes at first.

__device__ double after(double hares, double foxes, double h, long long steps)
{
    for (long long s = 0; s < steps; ++s) {
        hares = fma(hares, fma(-h, foxes, h), hares);
        foxes = fma(foxes, fma(h, hares, -h), foxes);
    }
    return hares;
}

extern "C" __global__ void check_hares(const float* hares, const float* foxes, const float* out, double h, long long n,
                                       long long steps, double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) {
        double expected = after(hares[i], foxes[i], h, steps);
        tally.judge(out[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_hares(const float* hares, const float* foxes, double h, long long steps,
                                         const Findings* findings, Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, after(hares[i], foxes[i], h, steps)};
}
