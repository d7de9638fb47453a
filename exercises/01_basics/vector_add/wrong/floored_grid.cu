// expect: wrong
// The grid is rounded down: what is left after the last full block is never computed.

// launch vector_add(a, b, c, n): grid=max(n / 256, 1) block=256

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
