// bitonic_sort: each row of at most 1024 keys in ascending order; a block sorts a row, a thread has a key in a register.

#define THREADS 1024

// launch bitonic_sort(keys, sorted, cols): grid=rows block=THREADS

extern "C" __global__ void __launch_bounds__(THREADS) bitonic_sort(const int* keys, int* sorted, int cols)
{
    __shared__ int exchange[2][THREADS];
    int i = threadIdx.x, buffer = 0;
    size_t row = (size_t)blockIdx.x * cols;

    // The largest number behind the row's end: it stays there. All threads take part, because all of them have partners.
    int key = i < cols ? keys[row + i] : 0x7fffffff;

    // YOUR CODE: the network; in the end this thread has the key of place i

    if (i < cols)
        sorted[row + i] = key;
}
