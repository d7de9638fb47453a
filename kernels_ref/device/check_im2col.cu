// The 3 x 3 patches of h x w planes, zeros around: nine planes of y for each of x. The index counts through y.

__device__ double patch(const float* x, long long index, long long h, long long w)
{
    long long col = index % w, row = index / w % h, tap = index / (h * w) % 9, plane = index / (9 * h * w);
    long long r = row + tap / 3 - 1, c = col + tap % 3 - 1;
    return r < 0 || r >= h || c < 0 || c >= w ? 0.0 : (double)x[(plane * h + r) * w + c];
}

extern "C" __global__ void check_im2col(const float* x, const float* y, long long planes, long long h, long long w,
                                        double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < 9 * planes * h * w; i += step) {
        double expected = patch(x, i, h, w);
        tally.judge(y[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_im2col(const float* x, long long h, long long w, const Findings* findings,
                                          Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, patch(x, i, h, w)};
}
