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
    // YOUR CODE: the limit from the K-th of the list
}

// One value of each lane. Those above the limit go into the list, one after the other.
__device__ void offer(Best& best, float v, int place, bool exists)
{
    // Not `v > limit`, which no NaN is.
    // YOUR CODE: the lanes' values that pass, one after the other: key, rank, and a place in the list
}

__device__ bool passes(float4 v, float limit)
{
    return !(v.x <= limit && v.y <= limit && v.z <= limit && v.w <= limit);
}

// Many values of a round may pass: at its beginning, or where values rise. Each lane's largest is one of 32, so at least
// K values reach the K-th of them, and only these need to be offered.
__device__ void raise_limit(Best& best, const float4 (&v)[LOADS])
{
    // YOUR CODE: the K-th of the lanes' largest values; a limit that it passes
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

        // YOUR CODE: most rounds end with one ballot; in the others the limit is raised, and some packs are offered

        // The limit stays the same for the whole round: a pack's values are not offered in the order of their places, so
        // an equal one with a lower place may come later.
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
