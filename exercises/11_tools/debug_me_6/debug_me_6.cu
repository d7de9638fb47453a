// debug_me_6: the first step of a compressor: each row becomes differences; `widest` is the largest of the row.
//
// bug: ?   YOUR CODE: the line of this file, as you got it, where the bug is. Fix the kernel below.

constexpr int THREADS = 128;

// launch delta_rows(x, delta, widest, length): grid=rows block=THREADS

extern "C" __global__ void delta_rows(const int* x, int* delta, int* widest, int length)
{
    __shared__ int tile[THREADS];
    __shared__ int most;
    const int* row = x + (size_t)blockIdx.x * length;
    int* out = delta + (size_t)blockIdx.x * length;
    int t = threadIdx.x;
    int own = 0;

    // Barrier: no thread brings its difference before the start value is there.
    if (t == 0)
        most = 0;
    __syncthreads();

    for (int i = t; i < length; i += THREADS) {
        int value = row[i];
        tile[t] = value;

        // Barrier: each thread reads the value of the thread before it.
        __syncthreads();
        int before = t > 0 ? tile[t - 1] : i > 0 ? row[i - 1] : 0;
        out[i] = value - before;
        own = max(own, abs(value - before));

        // Barrier: the next round overwrites the tile.
        __syncthreads();
    }

    atomicMax(&most, own);
    // Barrier: all threads have brought their difference.
    __syncthreads();
    if (t == 0)
        widest[blockIdx.x] = most;
}
