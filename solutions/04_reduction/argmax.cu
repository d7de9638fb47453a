// argmax: the index of the largest of n floats, the lowest one if there are several. A NaN is larger than all numbers.
//
// A thread keeps a pair, value and index. Pairs are combined in the warp, in the block, and by the block that is last.
// n may be larger than an int, and so may the index.

#include <limits.h>
#include <math.h>

constexpr int THREADS = 512;
constexpr int WARPS = THREADS / 32;

// At most so many blocks, as in reduce_v10.
#define BLOCKS 4096

// scratch values: float[BLOCKS]
// scratch places: long long[BLOCKS]
// launch argmax(x, values, places, index, n): grid=max(1, min(n / (16 * THREADS), BLOCKS)) block=THREADS

// Tickets drawn so far in this launch. The last one sets the count back to 0, for the launch after this.
__device__ unsigned int tickets = 0;

struct Pair {
    float value;
    long long place;
};

// Whether v comes before w, whatever their places are: it is larger, or the only NaN of the two.
__device__ bool larger(float v, float w)
{
    bool result = v > w;
    result = result || (v != v && w == w);
    return result;
}

// The better one of two pairs: the larger value, else the lower place.
__device__ Pair better(Pair a, Pair b)
{
    Pair result = a;
    if (larger(b.value, a.value) || (!larger(a.value, b.value) && b.place < a.place))
        result = b;
    return result;
}

// The thread's next element. Its places ascend, so that an equal value changes nothing.
__device__ void take(Pair& best, float v, long long i)
{
    if (larger(v, best.value))
        best = {v, i};
}

__device__ void take4(Pair& best, float4 v, long long i)
{
    take(best, v.x, i);
    take(best, v.y, i + 1);
    take(best, v.z, i + 2);
    take(best, v.w, i + 3);
}

// The best pair of a warp, in all lanes: better() gives the same pair for a, b and for b, a.
__device__ Pair warp_best(Pair p)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2) {
        Pair other;
        other.value = __shfl_xor_sync(0xffffffff, p.value, s);
        other.place = __shfl_xor_sync(0xffffffff, p.place, s);
        p = better(p, other);
    }
    return p;
}

// The best pair of the block, right in the first warp.
__device__ Pair block_best(Pair p)
{
    __shared__ Pair bests[WARPS];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    p = warp_best(p);
    if (lane == 0)
        bests[warp] = p;

    // Barrier: the first warp reads the pairs of all warps.
    __syncthreads();
    Pair none = {-INFINITY, LLONG_MAX};
    if (warp == 0)
        p = warp_best(lane < WARPS ? bests[lane] : none);
    return p;
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
    argmax(const float* x, float* values, long long* places, long long* index, long long n)
{
    int thread = blockIdx.x * THREADS + threadIdx.x;
    int threads = gridDim.x * THREADS;
    const float4* x4 = reinterpret_cast<const float4*>(x);
    long long n4 = n / 4;
    long long tail = 4 * n4 + thread;

    // A thread begins with its first place: if all of its values are -infinity, none is larger than the beginning.
    Pair best = {-INFINITY, thread < n4 ? 4ll * thread : tail < n ? tail : LLONG_MAX};

    // Four loads that do not wait for each other, as in reduce_v8.
    long long i = thread;
    for (; i + 3 * threads < n4; i += 4 * threads) {
        float4 a = x4[i];
        float4 b = x4[i + threads];
        float4 c = x4[i + 2 * threads];
        float4 d = x4[i + 3 * threads];
        take4(best, a, 4 * i);
        take4(best, b, 4 * (i + threads));
        take4(best, c, 4 * (i + 2 * threads));
        take4(best, d, 4 * (i + 3 * threads));
    }
#pragma unroll 1
    for (; i < n4; i += threads)
        take4(best, x4[i], 4 * i);
    if (tail < n)
        take(best, x[tail], tail);

    best = block_best(best);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        values[blockIdx.x] = best.value;
        places[blockIdx.x] = best.place;

        // Fence: whoever sees the ticket drawn sees the pair stored. The second one: no pair is read before the draw.
        __threadfence();
        last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }

    // Barrier: all threads learn who is last, and the second block_best() does not touch the words of the first.
    __syncthreads();
    if (!last)
        return;

    best = {-INFINITY, LLONG_MAX};
    for (int k = threadIdx.x; k < gridDim.x; k += THREADS) {
        Pair other = {values[k], places[k]};
        best = better(best, other);
    }
    best = block_best(best);
    if (threadIdx.x == 0)
        *index = best.place;
}
