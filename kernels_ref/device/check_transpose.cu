// out = x with rows and columns exchanged: out is (cols, rows), and its element (c, r) is x's element (r, c).

__device__ double transposed(const float* x, long long index, long long rows, long long cols)
{
    long long c = index / rows, r = index % rows;
    return x[r * cols + c];
}

extern "C" __global__ void check_transpose(const float* x, const float* out, long long rows, long long cols,
                                           double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < rows * cols; i += step) {
        double expected = transposed(x, i, rows, cols);
        tally.judge(out[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_transpose(const float* x, long long rows, long long cols, const Findings* findings,
                                             Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, transposed(x, i, rows, cols)};
}
