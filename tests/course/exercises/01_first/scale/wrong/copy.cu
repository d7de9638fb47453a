// expect: wrong
// It copies and does not multiply.

// launch scale(x, y, factor, n): grid=cdiv(n, 128) block=128

extern "C" __global__ void scale(const float* x, float* y, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i];
}
