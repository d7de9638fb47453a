// expect: sim=technique
// Neighbouring threads take elements that lie 32 apart.

// launch scale(x, y, factor, n): grid=cdiv(n, 1024) block=1024

extern "C" __global__ void scale(const float* x, float* y, float factor, int n)
{
    int i = blockIdx.x * 1024 + (threadIdx.x % 32) * 32 + threadIdx.x / 32;
    if (i < n)
        y[i] = factor * x[i];
}
