// out[i] = the sum of weights[k] * x[i + k - 8] for k from 0 to 16, and x is 0 outside of its n floats.

__device__ double weighted(const float* x, const float* weights, long long i, long long n)
{
    double sum = 0.0;
    for (int k = 0; k < 17; ++k) {
        long long from = i + k - 8;
        sum += from < 0 || from >= n ? 0.0 : (double)weights[k] * x[from];
    }
    return sum;
}

extern "C" __global__ void check_weighted_line(const float* x, const float* weights, const float* out, long long n,
                                               double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) {
        double expected = weighted(x, weights, i, n);
        tally.judge(out[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_weighted_line(const float* x, const float* weights, long long n,
                                                 const Findings* findings, Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, weighted(x, weights, i, n)};
}
