// y has each value of x at four places, and dx the sums of four values of dy. The index counts through y and dx.

__device__ double upsampled(const float* x, const float* dy, long long index, long long rows, long long w)
{
    if (index < 4 * rows * w)
        return x[index / (2 * w) / 2 * w + index % (2 * w) / 2];
    long long i = index - 4 * rows * w;
    const float* upper = dy + i / w * 4 * w + 2 * (i % w);
    return (double)upper[0] + upper[1] + upper[2 * w] + upper[2 * w + 1];
}

extern "C" __global__ void check_upsample_nearest_2d(const float* x, const float* dy, const float* y, const float* dx,
                                                     long long planes, long long h, long long w, double relative,
                                                     double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x, rows = planes * h, all = 4 * rows * w;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < all + rows * w; i += step) {
        double expected = upsampled(x, dy, i, rows, w);
        tally.judge(i < all ? y[i] : dx[i - all], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_upsample_nearest_2d(const float* x, const float* dy, long long planes, long long h,
                                                       long long w, const Findings* findings, Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, upsampled(x, dy, i, planes * h, w)};
}
