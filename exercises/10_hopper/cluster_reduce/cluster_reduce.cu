// cluster_reduce: softmax of rows that no block can hold. The blocks of a cluster hold a row together, and combine
// their largest values and their sums in each other's shared memory.
//
// A cluster is a handful of blocks that run at the same time and can reach each other's shared memory. Each block reads
// its part of a row once, holds it in registers until all blocks know the row's largest value and sum, and writes it
// once. Meanwhile the next row's part is on its way to shared memory.

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <math.h>

namespace cg = cooperative_groups;

constexpr int CLUSTER = 8;  // blocks of a cluster: as many as every GPU with clusters allows
constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / 32;
constexpr int PACKS = 7;  // of 4 floats, in the registers of a thread: 8 blocks hold 229376 floats
constexpr int ROWS = 32;  // that a cluster takes, one after the other

// launch cluster_reduce(x, y, rows, cols): grid=CLUSTER * cdiv(rows, ROWS) block=THREADS cluster=CLUSTER shared=16 * cdiv(cols / 4, CLUSTER)

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

// Starts to copy a part of a row to shared memory, past the registers.
__device__ void fetch(float4* part, const float4* from, int count)
{
    for (int i = threadIdx.x; i < count; i += THREADS)
        __pipeline_memcpy_async(part + i, from + i, 16);
    __pipeline_commit();
}

extern "C" __global__ void __launch_bounds__(THREADS) cluster_reduce(const float* x, float* y, int rows, int cols)
{
    extern __shared__ float4 part[];  // of the next row
    __shared__ float maxima[WARPS], sums[WARPS];
    __shared__ float2 of_block[2];  // for even and odd rows: the part's largest value, and its sum of exp(x - largest)
    cg::cluster_group cluster = cg::this_cluster();
    int lane = threadIdx.x % 32;

    // YOUR CODE: which part of each row is this block's? cols is a multiple of 4. Which rows are the cluster's?
    // YOUR CODE: for each of its rows: wait until the part is there, take it into registers, fetch the next row's.
    // YOUR CODE: the largest value of the part, and the sum of exp(x - largest) over it.
    // YOUR CODE: tell the other blocks of the cluster, and learn theirs. Who waits for whom, and when?
    // YOUR CODE: store the shares of the part; the row is not read again.
}
