// reduce_v8: the sum of n floats; the loop over the grid of reduce_v7, with 16 bytes in each load.
//
// The grid stops growing at some number of blocks: its threads walk over src together until all is added.
// Then one block adds up the sums of the blocks, with the same kernel: src has m elements, dst one for each block.

constexpr int THREADS = 1024;

// At most so many blocks: far more than fit at once, as reduce_v7 explains. A block is worth starting for 16 elements of
// each thread: one round of four float4s.
#define BLOCKS 4096

// scratch sums: float[BLOCKS]
// launch reduce_v8(x, sums, n): grid=max(1, min(n / (16 * THREADS), BLOCKS)) block=THREADS
// launch reduce_v8(sums, out, max(1, min(n / (16 * THREADS), BLOCKS))): grid=1 block=THREADS

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

__device__ float sum_of(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

// 2 blocks of 1024 threads fill a multiprocessor if a thread keeps to 32 registers: the bound says so to the compiler.
extern "C" __global__ void __launch_bounds__(THREADS, 2) reduce_v8(const float* src, float* dst, int m)
{
    __shared__ float partial[THREADS];

    int t = threadIdx.x;
    int thread = blockIdx.x * THREADS + t;
    int threads = gridDim.x * THREADS;

    float sum = 0.0f;

    // YOUR CODE: the loop of reduce_v7 over src as float4s, then the last one to three elements.

    partial[t] = sum;
    add_up<THREADS>(partial, t);
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
