// The largest value of each 2 x 2 square of h x w planes; no value is NaN. The index counts through y.

__device__ double largest(const float* x, long long index, long long h, long long w)
{
    long long rows = h / 2, cols = w / 2, plane = index / (rows * cols);
    long long row = index / cols % rows, col = index % cols;
    const float* upper = x + (plane * h + 2 * row) * w + 2 * col;
    return fmax(fmax((double)upper[0], (double)upper[1]), fmax((double)upper[w], (double)upper[w + 1]));
}

extern "C" __global__ void check_max_pool(const float* x, const float* y, long long planes, long long h, long long w,
                                          double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < planes * (h / 2) * (w / 2); i += step) {
        double expected = largest(x, i, h, w);
        tally.judge(y[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_max_pool(const float* x, long long h, long long w, const Findings* findings,
                                            Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, largest(x, i, h, w)};
}
