// out[r] = the sum of the rows of x with the index r, 64 columns. Sums in double: their order does not show.

extern "C" __global__ void clear_sums(double* sums, long long rows)
{
    long long threads = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < 64 * rows; i += threads)
        sums[i] = 0.0;
}

extern "C" __global__ void add_rows(const float* x, const int* index, long long n, double* sums)
{
    long long threads = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < 64 * n; i += threads)
        atomicAdd(&sums[64ll * index[i / 64] + i % 64], (double)x[i]);
}

extern "C" __global__ void check_sums(const double* sums, const float* out, long long rows, double relative,
                                      double absolute, Findings* findings)
{
    Tally tally;
    long long threads = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < 64 * rows; i += threads)
        tally.judge(out[i], sums[i], absolute + relative * fabs(sums[i]), i);
    tally.merge(findings);
}

extern "C" __global__ void explain_sum_of_rows(const double* sums, const Findings* findings, Explanation* explanation)
{
    *explanation = {(double)findings->first, sums[findings->first]};
}
