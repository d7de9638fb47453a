// out[i] = the sum of the distances |x[i] - y[j]| over all j.

__device__ double distances(const float* x, const float* y, long long index, long long m)
{
    double point = x[index], sum = 0.0;
    for (long long j = 0; j < m; ++j)
        sum += fabs(point - y[j]);
    return sum;
}

extern "C" __global__ void check_distances(const float* x, const float* y, const float* out, long long n, long long m,
                                           double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) {
        double expected = distances(x, y, i, m);
        tally.judge(out[i], expected, absolute + relative * expected, i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_distances(const float* x, const float* y, long long m, const Findings* findings,
                                             Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, distances(x, y, i, m)};
}
