// y = A · x, A in compressed rows, in float64: one block of 256 threads a row.

__device__ double product(const int* offsets, const int* columns, const float* values, const float* x, long long row)
{
    double sum = 0.0;
    for (long long k = offsets[row] + (long long)threadIdx.x; k < offsets[row + 1]; k += 256)
        sum += (double)values[k] * (double)x[columns[k]];
    return block_sum(sum);
}

extern "C" __global__ void check_sparse(const int* offsets, const int* columns, const float* values, const float* x,
                                        const float* y, double relative, double absolute, Findings* findings)
{
    double expected = product(offsets, columns, values, x, blockIdx.x);
    if (threadIdx.x != 0)
        return;
    Tally tally;
    tally.judge(y[blockIdx.x], expected, absolute + relative * fabs(expected), blockIdx.x);
    tally.merge(findings);
}

extern "C" __global__ void explain_sparse(const int* offsets, const int* columns, const float* values, const float* x,
                                          const Findings* findings, Explanation* explanation)
{
    long long row = findings->first;
    double expected = product(offsets, columns, values, x, row);
    if (threadIdx.x == 0)
        *explanation = {(double)row, expected};
}
