// expect: sim=technique gpu=slow
// Right sums, but neighbouring threads are gridDim.x elements apart: each request moves 32 sectors instead of 4.

// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = threadIdx.x * gridDim.x + blockIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
