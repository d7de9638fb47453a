// vector_add: c[i] = a[i] + b[i], one thread for each element.
//
// `grade vector_add` reads the next line to launch your kernel: cdiv(n, 256) blocks of 256 threads.

// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    // YOUR CODE: which element is this thread's? Is there such an element? Then add.
}
