// c = max(a + b, 0), element by element, in half precision.

#include <cuda_fp16.h>

__device__ double add_relu(const __half* a, const __half* b, unsigned long long i)
{
    return fmax((double)__half2float(a[i]) + (double)__half2float(b[i]), 0.0);
}

extern "C" __global__ void check_add_relu(const __half* a, const __half* b, const __half* c, long long n,
                                          double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step) {
        double expected = add_relu(a, b, i);
        tally.judge(__half2float(c[i]), expected, absolute + relative * expected, i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_add_relu(const __half* a, const __half* b, const Findings* findings,
                                            Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, add_relu(a, b, i)};
}
