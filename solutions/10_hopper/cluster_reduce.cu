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

__device__ float largest_of(float4 v)
{
    return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
}

// 2 blocks share a multiprocessor: while one waits for its cluster, or stores, the other one loads.
extern "C" __global__ void __launch_bounds__(THREADS, 2) cluster_reduce(const float* x, float* y, int cols)
{
    extern __shared__ float4 part[];  // this block's part of the row
    __shared__ float maxima[WARPS], sums[WARPS];
    __shared__ float2 of_block;  // the largest value of the part, and the sum of exp(x - largest) over it
    cg::cluster_group cluster = cg::this_cluster();

    // The row of the cluster, and in it the part of the block, in packs of 4: cols is a multiple of 4. The last parts of
    // a short row are empty.
    int row = blockIdx.x / CLUSTER;
    int packs = cols / 4;
    int share = (packs + CLUSTER - 1) / CLUSTER;
    int begin = min((int)cluster.block_rank() * share, packs);
    int count = min(share, packs - begin);
    const float4* in = reinterpret_cast<const float4*>(x + (size_t)row * cols) + begin;
    float4* out = reinterpret_cast<float4*>(y + (size_t)row * cols) + begin;

    // The only pass that reads global memory. Four loads that do not wait for each other, as in reduce_v8.
    float largest = -INFINITY;
    int i = threadIdx.x;
    for (; i + 3 * THREADS < count; i += 4 * THREADS) {
        float4 a = in[i], b = in[i + THREADS], c = in[i + 2 * THREADS], d = in[i + 3 * THREADS];
        part[i] = a;
        part[i + THREADS] = b;
        part[i + 2 * THREADS] = c;
        part[i + 3 * THREADS] = d;
        largest = fmaxf(largest, fmaxf(fmaxf(largest_of(a), largest_of(b)), fmaxf(largest_of(c), largest_of(d))));
    }
    for (; i < count; i += THREADS) {
        float4 v = in[i];
        part[i] = v;
        largest = fmaxf(largest, largest_of(v));
    }
    largest = block_max(largest, maxima);

    // A thread uses only packs that it has stored itself, so no barrier is needed for them.
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += THREADS) {
        float4 v = part[i];
        v = {__expf(v.x - largest), __expf(v.y - largest), __expf(v.z - largest), __expf(v.w - largest)};
        part[i] = v;
        sum += (v.x + v.y) + (v.z + v.w);
    }
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0)
        of_block = make_float2(largest, sum);

    // Barrier: every block of the cluster has stored its two numbers.
    cluster.sync();

    // Lane r of every warp fetches those of block r: eight trips through the cluster at once. Each part's sum was taken
    // relative to its own largest value. A part without elements has -INFINITY and 0, and so have lanes without a block.
    int lane = threadIdx.x % 32;
    float2 theirs = lane < CLUSTER ? *cluster.map_shared_rank(&of_block, lane) : make_float2(-INFINITY, 0.0f);
    float of_row = warp_max(theirs.x);
    float scale = __expf(largest - of_row) / warp_sum(theirs.y * __expf(theirs.x - of_row));

    for (int i = threadIdx.x; i < count; i += THREADS) {
        float4 v = part[i];
        out[i] = {v.x * scale, v.y * scale, v.z * scale, v.w * scale};
    }

    // Barrier: a block's shared memory ends with the block. Nobody leaves before all have read it.
    cluster.sync();
}
