// reduce_v7: the sum of n floats; a grid that stops growing, whose threads walk over the array together.
//
// Each block adds up its share of src, however long src is, and writes one sum to dst. Then one block adds up the sums
// of the blocks, with the same kernel: src has m elements, dst one for each block.

constexpr int THREADS = 1024;

// At most so many blocks: far more than fit at once, so that a multiprocessor that is done early takes the next one, but
// not as many as a long array would allow, because each has its start, its tree and its sum. A block is worth starting
// for 16 elements of each thread.
#define BLOCKS 4096

// scratch sums: float[BLOCKS]
// launch reduce_v7(x, sums, n): grid=max(1, min(n / (16 * THREADS), BLOCKS)) block=THREADS
// launch reduce_v7(sums, out, max(1, min(n / (16 * THREADS), BLOCKS))): grid=1 block=THREADS

// The tree of reduce_v6: adds up a word for each thread of the block. Thread 0 then finds the sum in word 0.
template <int BLOCK>
__device__ void add_up(float* partial, int t)
{
    // Barrier: from here on threads read words that other threads have stored.
    __syncthreads();

#pragma unroll
    for (int s = BLOCK / 2; s > 32; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];

        // Barrier: the next step reads sums that other warps make in this one.
        __syncthreads();
    }

    if (t < 32) {
#pragma unroll
        for (int s = 32; s > 0; s /= 2) {
            if (t < s)
                partial[t] += partial[t + s];

            // Barrier of the warp: the next step reads what other lanes have written in this one.
            __syncwarp();
        }
    }
}

extern "C" __global__ void reduce_v7(const float* src, float* dst, int m)
{
    __shared__ float partial[THREADS];

    int t = threadIdx.x;
    float sum = 0.0f;

    // All threads of the grid stand in one row over the array. In each round the row moves on by its own length, so
    // neighbouring lanes load neighbouring elements in every round. No barrier: a thread adds in its own register.
    int threads = gridDim.x * THREADS;
    for (int i = blockIdx.x * THREADS + t; i < m; i += threads)
        sum += src[i];

    partial[t] = sum;
    add_up<THREADS>(partial, t);
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
