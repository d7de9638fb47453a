// y = A · x, halves in, in float64: one block of 256 threads a row. A is row-major, shape (m, k).

#include <cuda_fp16.h>

__device__ double product(const __half* row, const __half* x, long long k)
{
    double sum = 0.0;
    for (long long l = threadIdx.x; l < k; l += 256)
        sum += (double)__half2float(row[l]) * (double)__half2float(x[l]);
    return block_sum(sum);
}

extern "C" __global__ void check_products(const __half* A, const __half* x, const float* y, long long k, double relative,
                                          double absolute, Findings* findings)
{
    double expected = product(A + blockIdx.x * k, x, k);
    if (threadIdx.x != 0)
        return;
    Tally tally;
    tally.judge(y[blockIdx.x], expected, absolute + relative * fabs(expected), blockIdx.x);
    tally.merge(findings);
}

extern "C" __global__ void explain_product(const __half* A, const __half* x, long long k, const Findings* findings,
                                           Explanation* explanation)
{
    long long row = findings->first;
    double expected = product(A + row * k, x, k);
    if (threadIdx.x == 0)
        *explanation = {(double)row, expected};
}
