// bitonic_sort: each row of at most 1024 keys in ascending order; a block sorts a row, a thread has a key in a register.
//
// Partners that are less than 32 apart are lanes of one warp: a shuffle hands the key over, and nobody waits. Only the
// others meet in shared memory. It has two buffers, so that a round needs one barrier and not two.

#define THREADS 1024

// launch bitonic_sort(keys, sorted, cols): grid=rows block=THREADS

extern "C" __global__ void __launch_bounds__(THREADS) bitonic_sort(const int* keys, int* sorted, int cols)
{
    __shared__ int exchange[2][THREADS];
    int i = threadIdx.x, buffer = 0;
    size_t row = (size_t)blockIdx.x * cols;

    // The largest number behind the row's end: it stays there. All threads take part, because all of them have partners.
    int key = i < cols ? keys[row + i] : 0x7fffffff;

    for (int size = 2; size <= THREADS; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int other;
            if (stride < 32) {
                other = __shfl_xor_sync(0xffffffff, key, stride);
            } else {
                exchange[buffer][i] = key;
                // Barrier: the partner has stored its key. The next round uses the other buffer, so nobody overwrites
                // what is read here; this buffer is written again behind the next round's barrier.
                __syncthreads();
                other = exchange[buffer][i ^ stride];
                buffer ^= 1;
            }
            // Pieces of `size` keys are sorted upwards and downwards in turn. The lower partner of an upward piece, and
            // the upper one of a downward piece, keep the smaller key.
            bool upward = (i & size) == 0, lower = (i & stride) == 0;
            key = upward == lower ? min(key, other) : max(key, other);
        }

    if (i < cols)
        sorted[row + i] = key;
}
