// vector_add: c[i] = a[i] + b[i], one thread for each element.
//
// `grade vector_add` reads the next line to launch your kernel: cdiv(n, 256) blocks of 256 threads.

// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    // blockIdx.x full blocks of blockDim.x threads stand before this block, then threadIdx.x threads of our own.
    // Neighbouring threads get neighbouring elements: each warp reads and writes whole 128-byte lines.
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // The grid is rounded up to whole blocks, so the last block may have more threads than there are elements left.
    if (i < n)
        c[i] = a[i] + b[i];
}
