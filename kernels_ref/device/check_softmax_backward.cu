// dx = y · (dy - Σ y · dy) for each row. One block of 256 threads works on one row.

__device__ double sum_of_products(const float* y, const float* dy, long long cols)
{
    double sum = 0.0;
    for (long long i = threadIdx.x; i < cols; i += blockDim.x)
        sum += (double)y[i] * dy[i];
    return block_sum(sum);
}

extern "C" __global__ void check_softmax_backward(const float* y, const float* dy, const float* dx, long long cols,
                                                  double relative, double absolute, Findings* findings)
{
    long long start = blockIdx.x * cols;
    double sum = sum_of_products(y + start, dy + start, cols);
    Tally tally;
    for (long long i = start + threadIdx.x; i < start + cols; i += blockDim.x) {
        double expected = y[i] * (dy[i] - sum);
        tally.judge(dx[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_softmax_backward(const float* y, const float* dy, long long cols,
                                                    const Findings* findings, Explanation* explanation)
{
    long long i = findings->first, start = i / cols * cols;
    double sum = sum_of_products(y + start, dy + start, cols);
    if (threadIdx.x == 0)
        *explanation = {(double)i, y[i] * (dy[i] - sum)};
}
