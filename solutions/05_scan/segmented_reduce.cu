// segmented_reduce: out[s] = x[offsets[s]] + … + x[offsets[s + 1] - 1], for segments of any length; 0 for an empty one.
//
// The elements are cut into tiles of equal length, wherever segments end. A tile marks the last element of each segment
// by a bit, scans with a sum that starts anew after each mark, and each segment fetches what the scan left at its mark.

#include <cuda_pipeline.h>

constexpr int THREADS = 256;
constexpr int TILE = 32 * THREADS;  // of a block: a thread has 32 elements, and a word with a bit for each

// scratch firsts: int[cdiv(n, TILE)]
// scratch heads: float[cdiv(n, TILE)]
// launch segmented_reduce(x, offsets, out, firsts, heads, n, segments): grid=cdiv(n, TILE) block=THREADS
// launch add_heads(firsts, heads, out, n): grid=cdiv(n, TILE * 256) block=256

// Where element i of the tile is. A thread reads 8 packs of 4 in a row: in this order 8 threads read 32 banks.
__device__ unsigned int place(unsigned int i) { return i ^ i / 32 % 8 * 4; }

// The last segment that begins before element p, or 0: a search by a warp, which cuts what is left into 32 parts.
__device__ int last_before(const int* offsets, int segments, int p)
{
    int low = 0, high = segments;
    while (high - low > 1) {
        int step = (high - low + 31) / 32;
        int probe = low + (threadIdx.x % 32 + 1) * step;
        int below = __popc(__ballot_sync(~0u, probe < high && offsets[probe] < p));
        high = min(high, low + (below + 1) * step);
        low += below * step;
    }
    return low;
}

extern "C" __global__ void __launch_bounds__(THREADS, 6)
    segmented_reduce(const float* x, const int* offsets, float* out, int* firsts, float* heads, int n, int segments)
{
    __shared__ float4 packs[TILE / 4];
    __shared__ unsigned int ends[THREADS];  // a bit for each element: it is the last of its segment, or of the tile
    __shared__ float warp_sum[THREADS / 32];
    __shared__ bool warp_ends[THREADS / 32];
    __shared__ int first;
    float* tile = reinterpret_cast<float*>(packs);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int begin = blockIdx.x * TILE, stop = min(begin + TILE, n);

    if (begin + TILE <= n) {
        const float* from = x + begin + 4 * threadIdx.x;
        float* to = tile + place(4 * threadIdx.x);  // 4 · THREADS further on the order is the same
#pragma unroll
        for (int k = 0; k < TILE; k += 4 * THREADS)
            __pipeline_memcpy_async(to + k, from + k, 16);
        __pipeline_commit();
    } else {
        for (int i = threadIdx.x; i < TILE; i += THREADS)
            tile[place(i)] = begin + i < n ? x[begin + i] : 0.0f;
    }
    ends[threadIdx.x] = 0;
    if (warp == 0) {
        int found = last_before(offsets, segments, begin);
        if (lane == 0)
            first = found;
    }
    __syncthreads();  // `first` is known, and no word of `ends` is cleared any more

    for (int s = first + threadIdx.x; s < segments && offsets[s] < stop; s += THREADS) {
        int last = min(offsets[s + 1], stop) - 1 - begin;
        if (last >= max(0, offsets[s] - begin))
            atomicOr(&ends[last / 32], 1u << last % 32);
    }
    __pipeline_wait_prior(0);
    __syncthreads();  // all elements and marks are there

    unsigned int mine = ends[threadIdx.x];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        float* pack = tile + place(32 * threadIdx.x + 4 * k);
        float4 v = *reinterpret_cast<float4*>(pack);
        float values[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            sum += values[i];
            if (mine >> (4 * k + i) & 1) {
                pack[i] = sum;
                sum = 0.0f;
            }
        }
    }

    // Lanes from the last one with an end
    unsigned int with_ends = __ballot_sync(~0u, mine != 0);
    unsigned int upto = with_ends & (2u << lane) - 1;
    int from = upto ? 31 - __clz(upto) : 0;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        float other = __shfl_up_sync(~0u, sum, step);
        if (lane - step >= from)
            sum += other;
    }
    if (lane == 31) {
        warp_sum[warp] = sum;
        warp_ends[warp] = with_ends != 0;
    }
    float before = __shfl_up_sync(~0u, sum, 1);
    if (lane == 0)
        before = 0.0f;
    __syncthreads();  // all warps' last sums are there

    if (mine) {
        if (!(with_ends & (1u << lane) - 1))
            for (int w = warp - 1; w >= 0; --w) {
                before += warp_sum[w];
                if (warp_ends[w])
                    break;
            }
        tile[place(32 * threadIdx.x + __ffs(mine) - 1)] += before;
    }
    __syncthreads();  // all sums are complete

    for (int s = first + threadIdx.x; s < segments && (offsets[s] < stop || stop == n); s += THREADS) {
        int last = min(offsets[s + 1], stop) - 1 - begin, start = offsets[s] - begin;
        float part = last >= max(0, start) ? tile[place(last)] : 0.0f;
        if (start >= 0)
            out[s] = part;
        if (s == first) {
            firsts[blockIdx.x] = s;
            heads[blockIdx.x] = start < 0 ? part : 0.0f;
        }
    }
}

extern "C" __global__ void add_heads(const int* firsts, const float* heads, float* out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, tiles = (n + TILE - 1) / TILE;
    int s = t < tiles ? firsts[t] : -1;
    float head = t < tiles ? heads[t] : 0.0f;
    if (__all_sync(~0u, s == __shfl_sync(~0u, s, 0))) {
        for (int step = 16; step > 0; step /= 2)
            head += __shfl_xor_sync(~0u, head, step);
        if (threadIdx.x % 32 == 0 && s >= 0)
            atomicAdd(&out[s], head);
    } else if (s >= 0 && head != 0.0f)
        atomicAdd(&out[s], head);
}
