// The same 32 * rows floats in three other orders. The index counts through planes, merged and columns.

__device__ double regrouped(const float* x, long long index, long long rows)
{
    long long all = 32 * rows, i = index % all;
    if (index < all)
        return x[2 * (i % (16 * rows)) + i / (16 * rows)];
    if (index < 2 * all)
        return x[4 * rows * (i % 8) + i / 8];
    return x[32 * (i % rows) + i / rows];
}

extern "C" __global__ void check_regroup(const float* x, const float* planes, const float* merged, const float* columns,
                                         long long rows, double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x, all = 32 * rows;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < 3 * all; i += step) {
        double expected = regrouped(x, i, rows);
        const float* out = i < all ? planes : i < 2 * all ? merged : columns;
        tally.judge(out[i % all], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_regroup(const float* x, long long rows, const Findings* findings,
                                           Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, regrouped(x, i, rows)};
}
