// out[0] = x[0]·y[0] + … + x[n-1]·y[n-1], in float64: first a partial sum for each block, then their sum.

#include <cuda_fp16.h>

extern "C" __global__ void partial_dots(const __half* x, const __half* y, long long n, double* partial)
{
    double sum = 0.0;
    long long step = (long long)gridDim.x * 256;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += step)
        sum += (double)__half2float(x[i]) * __half2float(y[i]);
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

__device__ double total(const double* partial, long long blocks)
{
    double sum = 0.0;
    for (long long i = threadIdx.x; i < blocks; i += 256)
        sum += partial[i];
    return block_sum(sum);
}

extern "C" __global__ void check_dot(const double* partial, long long blocks, const float* out, double relative,
                                     double absolute, Findings* findings)
{
    double expected = total(partial, blocks);
    if (threadIdx.x != 0)
        return;
    Tally tally;
    tally.judge(out[0], expected, absolute + relative * fabs(expected), 0);
    tally.merge(findings);
}

extern "C" __global__ void explain_dot(const double* partial, long long blocks, Explanation* explanation)
{
    double expected = total(partial, blocks);
    if (threadIdx.x == 0)
        *explanation = {0.0, expected};
}
