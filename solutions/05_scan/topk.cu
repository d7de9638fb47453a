// topk: of each row the 8 largest values, in descending order, and their places; of equal ones the lower place first.
//
// A warp has a row. Its best are a list across the lanes: lane j has the j-th. The 8th is the limit. All lanes compare
// what they load with the limit; what does not pass, and that is nearly everything, costs one comparison.

constexpr int K = 8;
constexpr int THREADS = 256;
constexpr int LOADS = 8;               // of four floats, by each lane, in flight together
constexpr int ROUND = LOADS * 32 * 4;  // floats of a warp

#define INFINITE __int_as_float(0x7f800000)
#define NO_NUMBER __int_as_float(0x7fffffff)

// launch topk(x, values, places, rows, cols): grid=cdiv(rows, THREADS / 32) block=THREADS

typedef unsigned long long Key;

// A number that is larger if the value is, or if equal values have a lower place. Above: the value's bits, all of them
// flipped if it is negative, else only the sign; a NaN above all others. Below: the place. No key is 0.
__device__ Key key_of(float value, int place)
{
    unsigned int bits = __float_as_uint(value + 0.0f);  // -0 becomes 0
    bits ^= bits >> 31 ? ~0u : 1u << 31;
    return (Key)(isnan(value) ? ~0u : bits) << 32 | ~(unsigned int)place;
}

__device__ float value_of(Key key)
{
    unsigned int bits = key >> 32;
    return __uint_as_float(bits ^ (bits >> 31 ? 1u << 31 : ~0u));
}

struct Best {
    Key key;      // of this lane's; 0: none yet
    float limit;  // in all lanes: no value up to it belongs to the first K, nor does one that comes later and is equal
};

// The limit follows the K-th of the list. While there is none it is NaN, of which every comparison is false: all values
// pass. If even the K-th is a NaN, infinity lets other NaNs pass, and their keys find no place.
__device__ void update_limit(Best& best)
{
    Key last = __shfl_sync(~0u, best.key, K - 1);
    best.limit = fmaxf(best.limit, last >> 32 == ~0u ? INFINITE : value_of(last));  // fmaxf: the one that is no NaN
}

// One value of each lane. Those above the limit go into the list, one after the other.
__device__ void offer(Best& best, float v, int place, bool exists)
{
    int lane = threadIdx.x % 32;

    // Not `v > limit`, which no NaN is.
    unsigned int lanes = __ballot_sync(~0u, exists && !(v <= best.limit));
    for (; lanes; lanes &= lanes - 1) {
        Key key = __shfl_sync(~0u, key_of(v, place), __ffs(lanes) - 1);
        int rank = __popc(__ballot_sync(~0u, best.key > key));
        Key left = __shfl_up_sync(~0u, best.key, 1);
        if (lane > rank)
            best.key = left;
        else if (lane == rank)
            best.key = key;
    }
}

__device__ bool passes(float4 v, float limit)
{
    return !(v.x <= limit && v.y <= limit && v.z <= limit && v.w <= limit);
}

// Many values of a round may pass: at its beginning, or where values rise. Each lane's largest is one of 32, so at least
// K values reach the K-th of them, and only these need to be offered.
__device__ void raise_limit(Best& best, const float4 (&v)[LOADS])
{
    int lane = threadIdx.x % 32, rank = 0;
    float largest = -INFINITE;
#pragma unroll
    for (int k = 0; k < LOADS; ++k)
        largest = fmaxf(largest, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
#pragma unroll 8
    for (int l = 0; l < 32; ++l) {
        float other = __shfl_sync(~0u, largest, l);
        rank += other > largest || (other == largest && l < lane);
    }
    float bound = __shfl_sync(~0u, largest, __ffs(__ballot_sync(~0u, rank == K - 1)) - 1);

    // Values equal to the bound have to pass.
    if (bound > -INFINITE)
        best.limit = fmaxf(best.limit, nextafterf(bound, -INFINITE));
}

extern "C" __global__ void __launch_bounds__(THREADS) topk(const float* x, float* values, int* places, int rows, int cols)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
    if (row >= rows)
        return;
    x += (size_t)row * cols;
    Best best = {0, NO_NUMBER};

    // A row begins anywhere. Up to 3 floats are before the first one that is aligned for float4.
    int c = (int)(-(size_t)x / 4 % 4);
    offer(best, lane < c ? x[lane] : 0.0f, lane, lane < c);
    update_limit(best);

    for (; c + ROUND <= cols; c += ROUND) {
        const float4* packs = reinterpret_cast<const float4*>(x + c) + lane;
        float4 v[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; ++k)
            v[k] = __ldcs(packs + 32 * k);

        bool any = false;
#pragma unroll
        for (int k = 0; k < LOADS; ++k)
            any |= passes(v[k], best.limit);
        unsigned int lanes = __ballot_sync(~0u, any);
        if (!lanes)
            continue;

        // The limit stays the same for the whole round: a pack's values are not offered in the order of their places, so
        // an equal one with a lower place may come later.
        if (__popc(lanes) > K)
            raise_limit(best, v);
#pragma unroll
        for (int k = 0; k < LOADS; ++k)
            if (__any_sync(~0u, passes(v[k], best.limit)))
#pragma unroll 1
                for (int e = 0; e < 4; ++e)
                    offer(best, e == 0 ? v[k].x : e == 1 ? v[k].y : e == 2 ? v[k].z : v[k].w,
                          c + (k * 32 + lane) * 4 + e, true);
        update_limit(best);
    }

    // What is left is less than a round. All lanes take part to the end.
    for (; c < cols; c += 32) {
        bool exists = c + lane < cols;
        offer(best, exists ? x[c + lane] : 0.0f, c + lane, exists);
        update_limit(best);
    }

    if (lane < K) {
        values[(size_t)row * K + lane] = value_of(best.key);
        places[(size_t)row * K + lane] = (int)~(unsigned int)best.key;
    }
}
