// y = W · x with 4-bit weights in float64: one block of 256 threads a row. W is row-major, eight weights a word in the
// order 0, 2, 4, 6, 1, 3, 5, 7 from the lowest bits upwards, with a scale and a zero point for each 128 of a row.

#include <cuda_fp16.h>

__device__ double product(const unsigned* W, const __half* scales, const unsigned char* zeros, const __half* x,
                          long long row, long long k)
{
    double sum = 0.0;
    for (long long l = threadIdx.x; l < k; l += 256) {
        long long at = row * k + l;
        int place = l % 2 * 4 + l % 8 / 2;
        int bits = W[at / 8] >> (4 * place) & 15;
        sum += (double)__half2float(scales[at / 128]) * (bits - zeros[at / 128]) * (double)__half2float(x[l]);
    }
    return block_sum(sum);
}

extern "C" __global__ void check_products(const unsigned* W, const __half* scales, const unsigned char* zeros,
                                          const __half* x, const float* y, long long k, double relative, double absolute,
                                          Findings* findings)
{
    double expected = product(W, scales, zeros, x, blockIdx.x, k);
    if (threadIdx.x != 0)
        return;
    Tally tally;
    tally.judge(y[blockIdx.x], expected, absolute + relative * fabs(expected), blockIdx.x);
    tally.merge(findings);
}

extern "C" __global__ void explain_product(const unsigned* W, const __half* scales, const unsigned char* zeros,
                                           const __half* x, long long k, const Findings* findings,
                                           Explanation* explanation)
{
    long long row = findings->first;
    double expected = product(W, scales, zeros, x, row, k);
    if (threadIdx.x == 0)
        *explanation = {(double)row, expected};
}
