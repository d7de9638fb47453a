// segmented_reduce: out[s] = x[offsets[s]] + … + x[offsets[s + 1] - 1], for segments of any length; 0 for an empty one.
//
// Tiles have the same number of elements, wherever segments end. A bit marks the last element of each segment. A scan of
// the tile begins a new sum after each mark, so the sum of a segment is at its last element.

#include <cuda_pipeline.h>

constexpr int THREADS = 256;
constexpr int TILE = 32 * THREADS;  // of a block: a thread has 32 elements, and a word with their marks
constexpr int EACH = 4;             // segments of a thread in find_firsts, whose loads are in flight together

// scratch firsts: int[cdiv(n, TILE)]
// launch find_firsts(offsets, firsts, out, n, segments): grid=cdiv(segments, EACH * 256) block=256
// launch segmented_reduce(x, offsets, firsts, out, n, segments): grid=cdiv(n, TILE) block=THREADS

// Where element i of the tile lies. A thread reads 8 packs of 4 in a row: in this order 8 threads read all banks.
__device__ unsigned int place(unsigned int i) { return i ^ i / 32 % 8 * 4; }

// Copies 16 bytes which are read once: they leave the L2 first (evict_first), so that the offsets stay there.
__device__ void copy_once(float* to, const float* from)
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
    unsigned int place = (unsigned int)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "l"(policy)
                 : "memory");
}

// The first segment of each tile: the last one that begins before it, or segment 0. Nobody searches: each segment
// stores its number for the tiles that begin in it. A long one has many tiles, so the whole warp stores for it.
extern "C" __global__ void find_firsts(const int* offsets, int* firsts, float* out, int n, int segments)
{
    int lane = threadIdx.x % 32, s0 = blockIdx.x * EACH * 256 + threadIdx.x;
    int begin[EACH], end[EACH];
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        begin[i] = offsets[min(s0 + i * 256, segments)];
        end[i] = offsets[min(s0 + i * 256 + 1, segments)];
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        int s = s0 + i * 256, from = s == 0 ? 0 : begin[i] / TILE + 1;
        int to = s < segments ? min(end[i] / TILE, (n - 1) / TILE) : -1;
        if (from <= to)
            out[s] = 0.0f;  // its tiles will add to it
        bool many = to - from >= 4;
        for (int t = from; !many && t <= to; ++t)
            firsts[t] = s;
        for (unsigned int left = __ballot_sync(~0u, many); left; left &= left - 1) {
            int owner = __ffs(left) - 1, last = __shfl_sync(~0u, to, owner);
            for (int t = __shfl_sync(~0u, from, owner) + lane; t <= last; t += 32)
                firsts[t] = s - lane + owner;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 6)
    segmented_reduce(const float* x, const int* offsets, const int* firsts, float* out, int n, int segments)
{
    __shared__ float4 packs[TILE / 4];
    __shared__ unsigned int marks[THREADS];
    __shared__ float warp_sum[THREADS / 32];
    __shared__ bool warp_marks[THREADS / 32];
    float* tile = reinterpret_cast<float*>(packs);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int first = firsts[blockIdx.x], begin = blockIdx.x * TILE, stop = min(begin + TILE, n);

    // The elements need no registers on their way. They arrive while marks are set.
    if (begin + TILE <= n) {
        const float* from = x + begin + 4 * threadIdx.x;
        float* to = tile + place(4 * threadIdx.x);  // 4 * THREADS further the order is the same
#pragma unroll
        for (int k = 0; k < TILE; k += 4 * THREADS)
            copy_once(to + k, from + k);
        __pipeline_commit();
    } else {
        for (int i = threadIdx.x; i < TILE; i += THREADS)
            tile[place(i)] = begin + i < n ? x[begin + i] : 0.0f;
    }
    marks[threadIdx.x] = 0;
    __syncthreads();  // all marks are cleared

    // The last element that a segment has in this tile. Several segments may end in one word.
    for (int s = first + threadIdx.x; s < segments && offsets[s] < stop; s += THREADS) {
        int start = offsets[s] - begin, last = min(offsets[s + 1], stop) - 1 - begin;
        if (last >= max(0, start))
            atomicOr(&marks[last / 32], 1u << last % 32);
    }
    __pipeline_wait_prior(0);
    __syncthreads();  // all elements and marks are there

    // A thread adds its 32 elements. What is left belongs to a segment that goes on.
    unsigned int mine = marks[threadIdx.x];
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

    // What a lane hands on: its sum, and those of the lanes before, back to the nearest one with a mark.
    unsigned int with_marks = __ballot_sync(~0u, mine != 0), before_me = (1u << lane) - 1;
    unsigned int up_to_me = with_marks & (before_me | 1u << lane);
    int from = up_to_me ? 31 - __clz(up_to_me) : 0;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        float other = __shfl_up_sync(~0u, sum, step);
        if (lane - step >= from)
            sum += other;
    }
    if (lane == 31) {
        warp_sum[warp] = sum;
        warp_marks[warp] = with_marks != 0;
    }
    float before = __shfl_up_sync(~0u, sum, 1);
    __syncthreads();  // all warps' last sums are there

    // The first segment that ends in this thread gets what is before it; the others began here.
    if (mine) {
        if (lane == 0)
            before = 0.0f;
        if (!(with_marks & before_me)) {
            for (int w = warp - 1; w >= 0; --w) {
                before += warp_sum[w];
                if (warp_marks[w])
                    break;
            }
        }
        tile[place(32 * threadIdx.x + __ffs(mine) - 1)] += before;
    }
    __syncthreads();  // all sums are complete

    // Each segment fetches its sum: lanes store side by side. Of a segment that goes over an edge this is a part.
    for (int s = first + threadIdx.x; s < segments && (offsets[s] < stop || stop == n); s += THREADS) {
        int start = offsets[s] - begin, last = min(offsets[s + 1], stop) - 1 - begin;
        float part = last >= max(0, start) ? tile[place(last)] : 0.0f;
        if (start >= 0 && offsets[s + 1] <= stop)
            out[s] = part;
        else if (last >= 0)
            atomicAdd(&out[s], part);
    }
}
