// expect: out_of_bounds
// The surplus threads of the last block read and write behind the arrays.

// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}
