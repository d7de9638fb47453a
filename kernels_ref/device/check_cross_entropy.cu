// The cross entropy of each row of logits with its label, in float64: one block of 256 threads a row.

// The loss of a row, in every thread. A negative label marks a row that does not count.
__device__ double loss_of(const float* x, int label, long long cols)
{
    double largest = -INFINITE, sum = 0.0;
    for (long long c = threadIdx.x; c < cols; c += 256)
        largest = fmax(largest, (double)x[c]);
    largest = block_max(largest);
    for (long long c = threadIdx.x; c < cols; c += 256)
        sum += exp((double)x[c] - largest);
    sum = block_sum(sum);
    return label < 0 ? 0.0 : log(sum) + (largest - (double)x[label]);
}

extern "C" __global__ void check_losses(const float* logits, const int* labels, const float* loss, long long cols,
                                        double relative, double absolute, Findings* findings)
{
    double expected = loss_of(logits + blockIdx.x * cols, labels[blockIdx.x], cols);
    Tally tally;
    if (threadIdx.x == 0)
        tally.judge(loss[blockIdx.x], expected, absolute + relative * fabs(expected), blockIdx.x);
    tally.merge(findings);
}

extern "C" __global__ void explain_loss(const float* logits, const int* labels, long long cols, const Findings* findings,
                                        Explanation* explanation)
{
    long long row = findings->first;
    double expected = loss_of(logits + row * cols, labels[row], cols);
    if (threadIdx.x == 0)
        *explanation = {(double)row, expected};
}
