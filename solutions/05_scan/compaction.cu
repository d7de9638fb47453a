// compaction: the elements above 0 of x, in their order, without gaps: one pass over x, with a look-back.
//
// Each tile counts what it keeps, publishes the count, and looks back for where its elements begin. In the meantime
// they are put side by side in shared memory, so that neighbouring lanes store neighbouring places.

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int PACKS = 4;  // float4s of a thread; a byte of a word for each
constexpr int TILE = THREADS * PACKS * 4;
constexpr int MAX_TILES = (1 << 26) / TILE;

// launch compaction(x, out, count, n): grid=cdiv(n, TILE) block=THREADS

// As in scan_lookback: 4 · launch + AGGREGATE or PREFIX above, a number of elements below.
constexpr unsigned int AGGREGATE = 1;  // kept in this tile
constexpr unsigned int PREFIX = 2;     // kept up to the end of this tile
__device__ volatile unsigned long long published[MAX_TILES];

// The number of this launch in the upper half, the next ticket in the lower half.
__device__ unsigned long long counter = 0;

__device__ unsigned long long draw_ticket()
{
    unsigned long long drawn = atomicAdd(&counter, 1ull);
    if ((unsigned int)drawn == gridDim.x - 1)
        atomicAdd(&counter, (1ull << 32) - gridDim.x);
    return drawn;
}

__device__ void publish(int tile, unsigned int tag, unsigned int value)
{
    published[tile] = (unsigned long long)tag << 32 | value;
}

// The sum over lanes 0 to this one. All 32 lanes must take part.
__device__ unsigned int warp_scan(unsigned int v)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int s = 1; s < 32; s *= 2) {
        unsigned int left = __shfl_up_sync(0xffffffff, v, s);
        if (lane >= s)
            v += left;
    }
    return v;
}

// What all tiles before this one keep, in all lanes. A whole warp calls it.
__device__ unsigned int look_back(int tile, unsigned int launch)
{
    int lane = threadIdx.x % 32;
    unsigned int sum = 0;

    // As in scan_lookback, a pause before the first look.
    __nanosleep(2000);
    bool found = false;
    for (int nearest = tile - 1; !found; nearest -= 32) {
        int mine = nearest - lane;
        unsigned int status;
        unsigned long long word;
        do {
            word = mine >= 0 ? published[mine] : (unsigned long long)(4 * launch + PREFIX) << 32;
            status = (unsigned int)(word >> 32) - 4 * launch;

            // Wait until all 32 tiles have published something.
        } while (__any_sync(0xffffffff, status != AGGREGATE && status != PREFIX));

        unsigned int prefixes = __ballot_sync(0xffffffff, status == PREFIX);
        int last = prefixes ? __ffs(prefixes) - 1 : 31;
        sum += __shfl_sync(0xffffffff, warp_scan(lane <= last ? (unsigned int)word : 0), 31);
        found = prefixes != 0;
    }
    return sum;
}

// Seven blocks on a multiprocessor: the compiler may use at most 32 registers a thread.
extern "C" __global__ void __launch_bounds__(THREADS, 7)
compaction(const float* x, float* out, int* count, int n)
{
    __shared__ float kept[TILE];
    __shared__ unsigned long long drawn;
    __shared__ unsigned int warp_counts[WARPS];
    __shared__ unsigned int before_tile;
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;

    if (threadIdx.x == 0)
        drawn = draw_ticket();

    // Barrier: all threads learn the ticket.
    __syncthreads();
    int tile = (int)(unsigned int)drawn;
    unsigned int launch = (unsigned int)(drawn >> 32);

    // A warp owns PACKS · 128 floats in a row. Places behind the end are 0, which is not kept.
    int first = tile * TILE + warp * (PACKS * 128) + lane * 4;
    float4 v[PACKS];
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        int i = first + k * 128;
        if (i + 3 < n)
            v[k] = *reinterpret_cast<const float4*>(x + i);
        else
            v[k] = {i < n ? x[i] : 0.0f, i + 1 < n ? x[i + 1] : 0.0f, i + 2 < n ? x[i + 2] : 0.0f, 0.0f};
    }

    // Byte k of the word is the number that this lane keeps of float4 k, at most 4. Over a warp that is at most 128, so
    // one scan of the words scans all four bytes, and no byte carries into the next.
    unsigned int counts = 0;
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
        counts |= ((v[k].x > 0) + (v[k].y > 0) + (v[k].z > 0) + (v[k].w > 0)) << 8 * k;
    unsigned int scanned = warp_scan(counts);
    unsigned int totals = __shfl_sync(0xffffffff, scanned, 31);
    if (lane == 0)
        warp_counts[warp] = (totals & 255) + (totals >> 8 & 255) + (totals >> 16 & 255) + (totals >> 24);

    // Barrier: the counts of all warps are stored.
    __syncthreads();

    // What each warp has before it in the tile; lane l of every warp adds up to warp l.
    unsigned int warps = warp_scan(lane < WARPS ? warp_counts[lane] : 0);
    unsigned int kept_here = __shfl_sync(0xffffffff, warps, 31);
    unsigned int place = __shfl_sync(0xffffffff, warps, max(warp - 1, 0));
    if (warp == 0)
        place = 0;

    // Publish before anything else: the tiles after this one wait for it.
    if (threadIdx.x == 0)
        publish(tile, 4 * launch + (tile == 0 ? PREFIX : AGGREGATE), kept_here);

    // Each element to its place in the tile: after all float4s before, and after the lanes before in its own.
    unsigned int before = scanned - counts;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        unsigned int p = place + (before >> 8 * k & 255);
        if (v[k].x > 0)
            kept[p++] = v[k].x;
        if (v[k].y > 0)
            kept[p++] = v[k].y;
        if (v[k].z > 0)
            kept[p++] = v[k].z;
        if (v[k].w > 0)
            kept[p++] = v[k].w;
        place += totals >> 8 * k & 255;
    }

    if (warp == 0) {
        unsigned int sum = tile == 0 ? 0 : look_back(tile, launch);
        if (lane == 0) {
            before_tile = sum;
            if (tile > 0)
                publish(tile, 4 * launch + PREFIX, sum + kept_here);
            if (tile == gridDim.x - 1)
                *count = sum + kept_here;
        }
    }

    // Barrier: all elements are side by side, and all threads learn where the tile begins.
    __syncthreads();
    for (int p = threadIdx.x; p < kept_here; p += THREADS)
        out[before_tile + p] = kept[p];
}
