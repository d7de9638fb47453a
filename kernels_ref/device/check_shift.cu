// out = x moved down and to the right, and 0 where nothing came from.

__device__ double shifted(const float* x, long long index, long long cols, long long down, long long right)
{
    long long r = index / cols - down, c = index % cols - right;
    return r < 0 || c < 0 ? 0.0 : x[r * cols + c];
}

extern "C" __global__ void check_shift(const float* x, const float* out, long long rows, long long cols,
                                       long long down, long long right, double relative, double absolute,
                                       Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < rows * cols; i += step) {
        double expected = shifted(x, i, cols, down, right);
        tally.judge(out[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_shift(const float* x, long long cols, long long down, long long right,
                                         const Findings* findings, Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, shifted(x, i, cols, down, right)};
}
