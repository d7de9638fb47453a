// saxpy_grid_stride: out[i] = alpha * x[i] + y[i], with a grid as large as the GPU instead of as large as the arrays.
//
// sm_count is the number of multiprocessors (SMs) of the GPU at hand. 8 blocks of 256 threads fill one of an A100 or
// H200: 2048 threads. So the grid has the same size for every n, and each thread has many elements.

// launch saxpy(x, y, out, alpha, n): grid=sm_count*8 block=256

// How many rounds a thread takes at once: so many loads of x, and as many of y, are in flight together.
#define UNROLL 2

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    // All threads of the grid stand in one row. In each round the row moves on by its own length, so neighbouring
    // threads have neighbouring elements in every round.
    // 64 bits: i may pass n by two rounds, and close to 2^31 an int has no room for that.
    long long step = gridDim.x * blockDim.x;
    long long i = blockIdx.x * blockDim.x + threadIdx.x;

    // Two rounds at once. All four loads stand before the first store, and no load needs another one's value: they are
    // in flight together, and the thread waits for memory once instead of twice.
    for (; i + (UNROLL - 1) * step < n; i += UNROLL * step) {
        float u[UNROLL], v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) {
            u[k] = x[i + k * step];
            v[k] = y[i + k * step];
        }
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            out[i + k * step] = alpha * u[k] + v[k];
    }

    // At most one element is left to this thread (UNROLL - 1 in general).
    for (; i < n; i += step)
        out[i] = alpha * x[i] + y[i];
}
