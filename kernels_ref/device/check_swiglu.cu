// out = gate / (1 + exp(-gate)) · up, element by element.

__device__ double swiglu(const float* gate, const float* up, unsigned long long i)
{
    double x = gate[i];
    return x / (1.0 + exp(-x)) * up[i];
}

extern "C" __global__ void check_swiglu(const float* gate, const float* up, const float* out, long long n,
                                        double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) {
        double expected = swiglu(gate, up, i);
        tally.judge(out[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_swiglu(const float* gate, const float* up, const Findings* findings,
                                          Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, swiglu(gate, up, i)};
}
