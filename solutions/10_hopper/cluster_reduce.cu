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

    // The block's part of each row, in packs of 4: cols is a multiple of 4. The last parts of a short row are empty.
    int packs = cols / 4;
    int share = (packs + CLUSTER - 1) / CLUSTER;
    int begin = min((int)cluster.block_rank() * share, packs);
    int count = min(share, packs - begin);
    const float4* in = reinterpret_cast<const float4*>(x) + begin;
    float4* out = reinterpret_cast<float4*>(y) + begin;

    int row = blockIdx.x / CLUSTER * ROWS;
    int end = min(row + ROWS, rows);
    fetch(part, in + (size_t)row * packs, count);

    for (; row < end; ++row) {
        // A thread uses only packs that it has copied itself, so no barrier is needed for them.
        __pipeline_wait_prior(0);
        float4 v[PACKS];
        float largest = -INFINITY;
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            int i = threadIdx.x + k * THREADS;
            if (i < count) {
                v[k] = part[i];
                largest = fmaxf(largest, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
            }
        }

        // The part is in registers, and its place is free: the next row comes while this one is computed and stored.
        if (row + 1 < end)
            fetch(part, in + (size_t)(row + 1) * packs, count);

        largest = block_max(largest, maxima);
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            if (threadIdx.x + k * THREADS < count) {
                v[k] = {__expf(v[k].x - largest), __expf(v[k].y - largest), __expf(v[k].z - largest),
                        __expf(v[k].w - largest)};
                sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
            }
        }
        sum = block_sum(sum, sums);
        float2* pair = of_block + row % 2;
        if (threadIdx.x == 0)
            *pair = make_float2(largest, sum);

        // Barrier: every block of the cluster has stored its pair. Nobody stores to this place again before the next
        // barrier, which all blocks reach only when they have read.
        cluster.sync();

        // Lane r of every warp fetches the pair of block r: eight trips through the cluster at once. Each part's sum was
        // taken relative to its own largest value. A part without elements has -INFINITY and 0, and so have lanes
        // without a block.
        float2 theirs = make_float2(-INFINITY, 0.0f);
        if (lane < CLUSTER)
            theirs = *cluster.map_shared_rank(pair, lane);
        float of_row = warp_max(theirs.x);
        float scale = __expf(largest - of_row) / warp_sum(theirs.y * __expf(theirs.x - of_row));

#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            int i = threadIdx.x + k * THREADS;
            if (i < count)
                out[(size_t)row * packs + i] = {v[k].x * scale, v[k].y * scale, v[k].z * scale, v[k].w * scale};
        }
    }

    // Barrier: a block's shared memory ends with the block. Nobody leaves before all have read it.
    cluster.sync();
}
