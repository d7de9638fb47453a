// dx = dy where the mask has a 1, else 0: a copy, so nothing is allowed. A NaN that is kept has to be a NaN.

__device__ double expected_at(const float* dy, const unsigned int* mask, unsigned long long i)
{
    return mask[i / 32] >> (i % 32) & 1 ? dy[i] : 0.0;
}

extern "C" __global__ void check_relu_backward(const float* dy, const unsigned int* mask, const float* dx, long long n,
                                               Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) {
        double expected = expected_at(dy, mask, i), got = dx[i];
        if (!(got == expected || (isnan(got) && isnan(expected))))
            tally.judge(got, expected, 0.0, i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_relu_backward(const float* dy, const unsigned int* mask, const Findings* findings,
                                                 Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, expected_at(dy, mask, i)};
}
