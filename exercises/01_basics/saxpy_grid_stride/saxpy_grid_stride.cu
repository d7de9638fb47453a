// saxpy_grid_stride: out[i] = alpha * x[i] + y[i], with a grid as large as the GPU instead of as large as the arrays.
//
// sm_count is the number of multiprocessors (SMs) of the GPU at hand. 8 blocks of 256 threads fill one of an A100 or
// H200: 2048 threads. So the grid has the same size for every n, and each thread has many elements.

// launch saxpy(x, y, out, alpha, n): grid=sm_count*8 block=256

// How many rounds a thread takes at once: so many loads of x, and as many of y, are in flight together.
#define UNROLL 2

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    // YOUR CODE: step, the number of threads in the whole grid; and i, this thread's first element.

    // YOUR CODE: a loop that takes UNROLL elements at once, step apart: first all their loads, then all their stores.

    // YOUR CODE: a loop for what is left, one element at a time. Begin with this one: it is right by itself.
}
