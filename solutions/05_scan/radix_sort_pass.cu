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
    u32 peers = ~0u;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
        u32 ones = __ballot_sync(~0u, digit >> b & 1);
        peers &= digit >> b & 1 ? ones : ~ones;
    }
    return peers;
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
    int lane = threadIdx.x % 32;
    if (threadIdx.x < DIGITS)
        found[threadIdx.x] = 0;

    u32 v[KEYS];
    load(v, keys, n);

    // A lane counts in registers: eight keys with four bits for each digit, then all of them with a byte for each. Digit d is
    // byte d / 2 % 4 of word 2 * (d / 8) + d % 2.
    u32 bytes[4] = {};
#pragma unroll
    for (int k = 0; k < KEYS; k += 8) {
        unsigned long long fours = 0;
#pragma unroll
        for (int j = 0; j < 8; ++j)
            fours += 1ull << 4 * (v[k + j] >> shift & 15);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            u32 half = (u32)(fours >> 32 * h);
            bytes[2 * h] += half & 0x0f0f0f0f;
            bytes[2 * h + 1] += half >> 4 & 0x0f0f0f0f;
        }
    }

    // Barrier: the counts are zero.
    __syncthreads();

    // Over the warp two bytes at a time, as numbers of 16 bits. Lanes behind the end count as well: nothing comes after digit
    // 15 there.
#pragma unroll
    for (int w = 0; w < DIGITS / 2; ++w) {
        u32 both = __reduce_add_sync(~0u, bytes[w / 2] >> w % 2 * 8 & 0x00ff00ff);
        int digit = w / 4 * 8 + w / 2 % 2 + w % 2 * 2;
        if (lane == 0) {
            atomicAdd(&found[digit], both & 0xffff);
            atomicAdd(&found[digit + 4], both >> 16);
        }
    }

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
#pragma unroll
    for (int k = 0; k < KEYS; ++k) {
        u32 digit = key[k] >> shift & 15;
        u32 peers = peers_of(digit);
        u32* count = &begins[digit * WARPS + warp];
        __syncwarp();  // the 32 keys before have been counted
        u32 before = *count;
        place[k] = before + __popc(peers & ((1u << lane) - 1));
        __syncwarp();  // all lanes have read the counts
        if (lane == __ffs(peers) - 1)
            *count = before + __popc(peers);
    }

    // Barrier: the counts of all warps are complete.
    __syncthreads();
    if (warp == 0) {
        // In the order of the digits, then of the warps: exclusive sums are places in the tile. A lane has 4 of them.
        u32 c[DIGITS * WARPS / 32], sum = 0;
#pragma unroll
        for (int j = 0; j < DIGITS * WARPS / 32; ++j) {
            c[j] = sum;
            sum += begins[lane * (DIGITS * WARPS / 32) + j];
        }
        u32 before = warp_scan(sum) - sum;
#pragma unroll
        for (int j = 0; j < DIGITS * WARPS / 32; ++j)
            begins[lane * (DIGITS * WARPS / 32) + j] = before + c[j];
        __syncwarp();  // all places are stored

        // All smaller digits, this digit in the tiles before, and not what is before the digit in this tile.
        u32 total = lane < DIGITS ? totals[lane] : 0;
        u32 smaller = warp_scan(total) - total;
        if (lane < DIGITS)
            to[lane] = smaller + counts[lane * gridDim.x + blockIdx.x] - begins[lane * WARPS];
    }

    // Barrier: the places are known.
    __syncthreads();
#pragma unroll
    for (int k = 0; k < KEYS; ++k) {
        u32 p = begins[(key[k] >> shift & 15) * WARPS + warp] + place[k];
        sorted_keys[p] = key[k];
        sorted_values[p] = value[k];
    }

    // Barrier: the tile is in order.
    __syncthreads();
    int here = min(TILE, n - blockIdx.x * TILE);
    for (int p = threadIdx.x; p < here; p += THREADS) {
        u32 out = to[sorted_keys[p] >> shift & 15] + p;
        out_keys[out] = sorted_keys[p];
        out_values[out] = sorted_values[p];
    }
}
