// segmented_reduce: c[i] = a[i] + b[i]. Say here in two lines what the kernel does.

// launch segmented_reduce(a, b, c, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void segmented_reduce(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // YOUR CODE: is there an element i? Then add.
}
