// cluster_reduce: the sum of n floats. The blocks of a cluster add up their sums in each other's shared memory.
//
// A cluster is a handful of blocks that run at the same time and can reach each other's shared memory. So eight sums
// become one without passing through global memory, and one atomic per cluster is all that global memory sees of them.

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int CLUSTER = 8;  // blocks of a cluster: as many as every GPU with clusters allows
constexpr int THREADS = 512;
constexpr int WARPS = THREADS / 32;

// At most so many blocks: many times as many as fit at once, as reduce_v7 explains.
#define BLOCKS 8192

// zero out
// launch cluster_reduce(x, out, n): grid=CLUSTER * cdiv(min(cdiv(n, 16 * THREADS), BLOCKS), CLUSTER) block=THREADS cluster=CLUSTER

// The sum over a warp, right in lane 0. All 32 lanes must take part.
__device__ float warp_sum(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_down_sync(0xffffffff, v, s);
    return v;
}

// The sum over the block, right in thread 0.
__device__ float block_sum(float v)
{
    __shared__ float warp_sums[WARPS];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;

    v = warp_sum(v);
    if (lane == 0)
        warp_sums[warp] = v;

    // Barrier: the first warp reads the words of all warps.
    __syncthreads();

    if (warp == 0)
        v = warp_sum(lane < WARPS ? warp_sums[lane] : 0.0f);
    return v;
}

// The sum over the cluster, right in thread 0 of its block 0. All threads of all its blocks must take part.
__device__ float cluster_sum(float v)
{
    // One word of each block, at the same place in each block's shared memory.
    __shared__ float of_block;
    cg::cluster_group cluster = cg::this_cluster();

    v = block_sum(v);
    if (threadIdx.x == 0)
        of_block = v;

    // YOUR CODE: a barrier of the whole cluster, so that every block's word is there.

    // YOUR CODE: block 0 of the cluster fetches the words of all its blocks, and adds them up in thread 0.

    // YOUR CODE: one more barrier of the whole cluster. What for?

    return v;
}

__device__ float sum_of(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

// 4 blocks of 512 threads fill a multiprocessor if a thread keeps to 32 registers: the bound says so to the compiler.
extern "C" __global__ void __launch_bounds__(THREADS, 2048 / THREADS) cluster_reduce(const float* x, float* out, int n)
{
    int thread = blockIdx.x * THREADS + threadIdx.x;
    int threads = gridDim.x * THREADS;

    const float4* x4 = reinterpret_cast<const float4*>(x);
    int n4 = n / 4;
    int i = thread;
    float sum = 0.0f;

    // Four loads that do not wait for each other, as in reduce_v8.
    for (; i + 3 * threads < n4; i += 4 * threads) {
        float4 a = x4[i];
        float4 b = x4[i + threads];
        float4 c = x4[i + 2 * threads];
        float4 d = x4[i + 3 * threads];
        sum += (sum_of(a) + sum_of(b)) + (sum_of(c) + sum_of(d));
    }
#pragma unroll 1
    for (; i < n4; i += threads)
        sum += sum_of(x4[i]);

    // The last one to three elements.
    int tail = 4 * n4 + thread;
    if (tail < n)
        sum += x[tail];

    sum = cluster_sum(sum);
    if (threadIdx.x == 0 && cg::this_cluster().block_rank() == 0)
        atomicAdd(out, sum);
}
