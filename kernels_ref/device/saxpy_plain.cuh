// out = alpha * x + y, element by element.

__device__ double saxpy(const float* x, const float* y, double alpha, long long i, long long n)
{
    return alpha * (double)x[i] + (double)y[i];
}
