// expect: wrong
// The block's number is missing from the index: every block computes the first 256 elements.

// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
