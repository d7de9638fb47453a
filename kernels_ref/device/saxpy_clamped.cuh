// out = max(alpha * x + y, 0), element by element.

__device__ double saxpy(const float* x, const float* y, double alpha, long long i, long long n)
{
    return fmax(alpha * (double)x[i] + (double)y[i], 0.0);
}
