// cluster_reduce: softmax of rows that no block can hold. The blocks of a cluster hold a row together, and combine their
// largest values and their sums in each other's shared memory.
//
// A cluster is a handful of blocks that run at the same time and can reach each other's shared memory. Each block reads
// its part of the row once, keeps it in shared memory until all blocks know the row's largest value and sum, and writes
// it once.

#include <cooperative_groups.h>
#include <math.h>

namespace cg = cooperative_groups;

constexpr int CLUSTER = 8;  // blocks of a cluster: as many as every GPU with clusters allows
constexpr int THREADS = 512;
constexpr int WARPS = THREADS / 32;

// launch cluster_reduce(x, y, cols): grid=rows * CLUSTER block=THREADS cluster=CLUSTER shared=16 * cdiv(cols / 4, CLUSTER)

// The largest value and the sum over a warp, right in all lanes. All 32 lanes must take part.
__device__ float warp_max(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, s));
    return v;
}

__device__ float warp_sum(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    return v;
}

// The same over a block, right in all threads. Each call needs WARPS words of shared memory that no other call uses.
__device__ float block_max(float v, float* of_warps)
{
    v = warp_max(v);
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = v;
    __syncthreads();  // every warp reads the words of all warps
    return warp_max(of_warps[threadIdx.x % WARPS]);
}

__device__ float block_sum(float v, float* of_warps)
{
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = v;
    __syncthreads();  // every warp reads the words of all warps
    return warp_sum(threadIdx.x % 32 < WARPS ? of_warps[threadIdx.x % WARPS] : 0.0f);
}

// 2 blocks share a multiprocessor: while one waits for its cluster, or stores, the other one loads.
extern "C" __global__ void __launch_bounds__(THREADS, 2) cluster_reduce(const float* x, float* y, int cols)
{
    extern __shared__ float4 part[];  // this block's part of the row
    __shared__ float maxima[WARPS], sums[WARPS];
    __shared__ float2 of_block;  // the largest value of the part, and the sum of exp(x - largest) over it
    cg::cluster_group cluster = cg::this_cluster();

    // YOUR CODE: which row is the cluster's, and which part of it is this block's? cols is a multiple of 4.
    // YOUR CODE: load the part into shared memory, once; its largest value, and the sum of exp(x - largest) over it.
    // YOUR CODE: tell the other blocks of the cluster, and learn theirs. Who waits for whom, and when?
    // YOUR CODE: store the shares of the part; the row is not read again.
}
