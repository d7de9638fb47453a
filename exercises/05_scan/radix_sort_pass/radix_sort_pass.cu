// radix_sort_pass: n keys with their values in the order of 4 bits of the key; equal digits stay in their order.
//
// A tile's keys of digit d go behind all smaller digits, and behind the keys of digit d in the tiles before. So: count
// the digits of each tile, scan the counts of each digit over the tiles, and put each tile in order on the chip before
// it is stored: then neighbouring lanes store neighbouring places.

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int KEYS = 16;  // of a lane
constexpr int TILE = THREADS * KEYS;
constexpr int DIGITS = 16;
constexpr int SCAN_THREADS = 1024;

typedef unsigned int u32;

// counts[d * tiles + t]: how often digit d is in tile t; then how often it is in the tiles before t
// scratch counts: uint32[16 * cdiv(n, TILE)]
// scratch totals: uint32[16]
// launch count_digits(keys, counts, n, shift): grid=cdiv(n, TILE) block=THREADS
// launch scan_digits(counts, totals, cdiv(n, TILE)): grid=16 block=SCAN_THREADS
// launch scatter(keys, values, counts, totals, out_keys, out_values, n, shift): grid=cdiv(n, TILE) block=THREADS

// The sum over lanes 0 to this one. All 32 lanes must take part.
__device__ u32 warp_scan(u32 v)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int s = 1; s < 32; s *= 2) {
        u32 left = __shfl_up_sync(~0u, v, s);
        if (lane >= s)
            v += left;
    }
    return v;
}

// The lanes whose key has the same digit: a ballot for each of its bits.
__device__ u32 peers_of(u32 digit)
{
    // YOUR CODE: four ballots
}

// The lane's keys: those of a warp are one piece, and a request has 32 neighbours. Behind the end digit 15 stands in: it
// is behind all keys of the tile.
__device__ void load(u32 (&v)[KEYS], const u32* from, int n)
{
    int first = blockIdx.x * TILE + threadIdx.x / 32 * (32 * KEYS) + threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < KEYS; ++k)
        v[k] = first + 32 * k < n ? from[first + 32 * k] : ~0u;
}

extern "C" __global__ void __launch_bounds__(THREADS) count_digits(const u32* keys, u32* counts, int n, int shift)
{
    __shared__ u32 found[DIGITS];
    if (threadIdx.x < DIGITS)
        found[threadIdx.x] = 0;

    u32 v[KEYS];
    load(v, keys, n);

    // Barrier: the counts are zero.
    __syncthreads();
    // YOUR CODE: few additions to `found`, one for each digit of 32 keys or of more

    // Barrier: all warps have counted.
    __syncthreads();
    if (threadIdx.x < DIGITS)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = found[threadIdx.x];
}

// A block for each digit: its count in each tile becomes the sum of those before.
extern "C" __global__ void __launch_bounds__(SCAN_THREADS) scan_digits(u32* counts, u32* totals, int tiles)
{
    __shared__ u32 sums[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32* row = counts + blockIdx.x * tiles;
    u32 carry = 0;
    for (int begin = 0; begin < tiles; begin += SCAN_THREADS) {
        int t = begin + threadIdx.x;
        u32 v = t < tiles ? row[t] : 0;
        u32 scanned = warp_scan(v);
        if (lane == 31)
            sums[warp] = scanned;

        // Barrier: the sums of all warps are stored.
        __syncthreads();
        u32 warps = warp_scan(sums[lane]);
        u32 before = __shfl_sync(~0u, warps, max(warp - 1, 0));
        if (t < tiles)
            row[t] = carry + (warp > 0 ? before : 0) + scanned - v;
        carry += __shfl_sync(~0u, warps, 31);

        // Barrier: all warps have read the sums, which the next round writes again.
        __syncthreads();
    }
    if (threadIdx.x == 0)
        totals[blockIdx.x] = carry;
}

// Three blocks on a multiprocessor: the compiler may use at most 80 registers a thread.
extern "C" __global__ void __launch_bounds__(THREADS, 3) scatter(const u32* keys, const u32* values, const u32* counts,
                                                              const u32* totals, u32* out_keys, u32* out_values, int n,
                                                              int shift)
{
    __shared__ u32 begins[DIGITS * WARPS];  // of digit d and warp w at d * WARPS + w: first counts, then places
    __shared__ u32 to[DIGITS];              // what leads from a place in the tile to the place in the result
    __shared__ u32 sorted_keys[TILE], sorted_values[TILE];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;

    u32 key[KEYS], value[KEYS], place[KEYS];
    load(key, keys, n);
    load(value, values, n);

    // Each warp counts for itself, in the order of its keys. A lane's rank among equal digits: those of the 32s before,
    // and the lanes before it.
    if (lane < DIGITS)
        begins[lane * WARPS + warp] = 0;
    // YOUR CODE: ranks of the keys in the warp, and the warp's counts

    // Barrier: the counts of all warps are complete.
    __syncthreads();
    if (warp == 0) {
        // In the order of the digits, then of the warps: exclusive sums are places in the tile. A lane has 4 of them.
        // YOUR CODE: places of the 128 counts

        __syncwarp();  // all places are stored

        // All smaller digits, this digit in the tiles before, and not what is before the digit in this tile.
        // YOUR CODE: `to`
    }

    // Barrier: the places are known.
    __syncthreads();
    // YOUR CODE: keys and values to their places in the tile; then to the result, with the lanes side by side
}
