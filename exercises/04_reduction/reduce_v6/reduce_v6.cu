// reduce_v6: the sum of n floats; the block size is a template parameter, and the tree has no loop left.
//
// Each block adds up 2 * THREADS elements of src and writes one sum to dst. `grade reduce_v6` launches the kernel again
// on those sums until one number is left: src is x at first, then the dst of the launch before; m counts its elements.

// The one place that says how large a block is: the launch line reads it, too.
constexpr int THREADS = 256;

// scratch ping, pong: float[cdiv(n, 2 * THREADS)]
// passes m=n until 1 by cdiv(m, 2 * THREADS): reduce_v6(src, dst, m): grid=cdiv(m, 2 * THREADS) block=THREADS

// One instance is compiled for each block size that somebody asks for. In it BLOCK is a number like 256.
template <int BLOCK>
__device__ void reduce_block(const float* src, float* dst, int m)
{
    static_assert(BLOCK >= 64 && BLOCK <= 1024 && (BLOCK & (BLOCK - 1)) == 0, "a power of two, 64 to 1024");

    // The size is known, so the launch line need not say it (shared=).
    __shared__ float partial[BLOCK];

    int t = threadIdx.x;
    int i = blockIdx.x * (2 * BLOCK) + t;
    int j = i + BLOCK;

    // The first addition happens during the load. Each of the two elements may lie past the end.
    float sum = i < m ? src[i] : 0.0f;
    if (j < m)
        sum += src[j];
    partial[t] = sum;

    // Barrier: from here on threads read words that other threads have stored.
    __syncthreads();

    // YOUR CODE: the tree of reduce_v5, as two loops whose start and end are numbers in this template.

    // Thread 0 made the last sum itself.
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}

// A launch needs a name, and a template is none: an ordinary kernel chooses the instance.
extern "C" __global__ void reduce_v6(const float* src, float* dst, int m)
{
    reduce_block<THREADS>(src, dst, m);
}
