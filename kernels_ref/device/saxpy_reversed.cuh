// out = alpha * x + y, with x read from its end.

__device__ double saxpy(const float* x, const float* y, double alpha, long long i, long long n)
{
    return alpha * (double)x[n - 1 - i] + (double)y[i];
}
