// reduce_v9: the sum of n floats; a warp adds up its sums in registers, and shared memory holds a word for each warp.
//
// The threads of the grid walk over src together, as in reduce_v8. Then one block adds up the sums of the blocks, with
// the same kernel: src has m elements, dst one for each block.

constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / 32;

// At most so many blocks: far more than fit at once, as reduce_v7 explains.
#define BLOCKS 4096

// scratch sums: float[BLOCKS]
// launch reduce_v9(x, sums, n): grid=max(1, min(n / (16 * THREADS), BLOCKS)) block=THREADS
// launch reduce_v9(sums, out, max(1, min(n / (16 * THREADS), BLOCKS))): grid=1 block=THREADS

// The sum over a warp, right in lane 0. All 32 lanes must take part.
__device__ float warp_sum(float v)
{
    // YOUR CODE: lane l adds what lane l + s holds, for s = 16, 8, 4, 2, 1.

    return v;
}

// The sum over the block, right in thread 0.
__device__ float block_sum(float v)
{
    __shared__ float warp_sums[WARPS];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;

    // YOUR CODE: each warp stores its sum in a word of warp_sums, and the first warp adds up these words.

    return v;
}

__device__ float sum_of(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

// 2 blocks of 1024 threads fill a multiprocessor if a thread keeps to 32 registers: the bound says so to the compiler.
extern "C" __global__ void __launch_bounds__(THREADS, 2) reduce_v9(const float* src, float* dst, int m)
{
    int thread = blockIdx.x * THREADS + threadIdx.x;
    int threads = gridDim.x * THREADS;

    const float4* src4 = reinterpret_cast<const float4*>(src);
    int m4 = m / 4;
    int i = thread;
    float sum = 0.0f;

    // Four loads that do not wait for each other, as in reduce_v8.
    for (; i + 3 * threads < m4; i += 4 * threads) {
        float4 a = src4[i];
        float4 b = src4[i + threads];
        float4 c = src4[i + 2 * threads];
        float4 d = src4[i + 3 * threads];
        sum += (sum_of(a) + sum_of(b)) + (sum_of(c) + sum_of(d));
    }
#pragma unroll 1
    for (; i < m4; i += threads)
        sum += sum_of(src4[i]);

    // The last one to three elements.
    int last = 4 * m4 + thread;
    if (last < m)
        sum += src[last];

    sum = block_sum(sum);
    if (threadIdx.x == 0)
        dst[blockIdx.x] = sum;
}
