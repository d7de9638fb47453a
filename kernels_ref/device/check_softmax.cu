// Softmax of each row of x, or what `of_row` of the file in front of this one makes of it, in float64: one block of 256
// threads a row.

struct Row {
    double largest, sum;
    __device__ double value(float x) const { return of_row((double)x - largest, sum); }
};

__device__ Row read_row(const float* x, long long cols)
{
    Row row = {-INFINITE, 0.0};
    for (long long c = threadIdx.x; c < cols; c += 256)
        row.largest = fmax(row.largest, (double)x[c]);
    row.largest = block_max(row.largest);
    for (long long c = threadIdx.x; c < cols; c += 256)
        row.sum += exp((double)x[c] - row.largest);
    row.sum = block_sum(row.sum);
    return row;
}

extern "C" __global__ void check_rows(const float* x, const float* y, long long cols, double relative, double absolute,
                                      Findings* findings)
{
    long long start = blockIdx.x * cols;
    Row row = read_row(x + start, cols);
    Tally tally;
    for (long long c = threadIdx.x; c < cols; c += 256) {
        double expected = row.value(x[start + c]);
        tally.judge(y[start + c], expected, absolute + relative * fabs(expected), start + c);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_rows(const float* x, long long cols, const Findings* findings, Explanation* explanation)
{
    long long first = findings->first;
    Row row = read_row(x + first / cols * cols, cols);
    if (threadIdx.x == 0)
        *explanation = {(double)first, row.value(x[first])};
}
