// scan_three_phase: the inclusive prefix sum of n floats by three launches: sums of tiles, their scan, tiles again.
//
// The first launch only reads: 4 bytes an element. The third reads and writes: 8. A scan of the tiles first, and an
// addition to every element later, would be 16.

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int PACKS = 4;  // float4s of a thread
constexpr int TILE = THREADS * PACKS * 4;
constexpr int SCAN_THREADS = 1024;

// scratch sums: float[cdiv(n, TILE)]
// launch tile_sums(x, sums, n): grid=cdiv(n, TILE) block=THREADS
// launch scan_sums(sums, cdiv(n, TILE)): grid=1 block=SCAN_THREADS
// launch scan_tiles(x, sums, out, n): grid=cdiv(n, TILE) block=THREADS

// The sum over lanes 0 to this one. All 32 lanes must take part.
__device__ float warp_scan(float v)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int s = 1; s < 32; s *= 2) {
        float left = __shfl_up_sync(0xffffffff, v, s);
        if (lane >= s)
            v += left;
    }
    return v;
}

// The float4 at x[i]. Places behind the end are 0.
__device__ float4 load4(const float* x, int i, int n)
{
    if (i + 3 < n)
        return *reinterpret_cast<const float4*>(x + i);
    return {i < n ? x[i] : 0.0f, i + 1 < n ? x[i + 1] : 0.0f, i + 2 < n ? x[i + 2] : 0.0f, 0.0f};
}

__device__ void store4(float* out, int i, int n, float4 v)
{
    if (i + 3 < n) {
        *reinterpret_cast<float4*>(out + i) = v;
        return;
    }
    if (i < n)
        out[i] = v.x;
    if (i + 1 < n)
        out[i + 1] = v.y;
    if (i + 2 < n)
        out[i + 2] = v.z;
}

// The sum of the threads before this one; `total` gets the sum over the block. words has one float for each warp.
__device__ float block_before(float v, float* words, float& total)
{
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;
    int warps = blockDim.x / 32;
    float scanned = warp_scan(v);
    if (lane == 31)
        words[warp] = scanned;

    // Barrier: the sums of all warps are stored.
    __syncthreads();
    float all = warp_scan(lane < warps ? words[lane] : 0.0f);
    float before = __shfl_sync(0xffffffff, all, max(warp - 1, 0));
    total = __shfl_sync(0xffffffff, all, warps - 1);

    // Barrier: all warps have read the words, which the next call writes again.
    __syncthreads();
    return scanned - v + (warp == 0 ? 0.0f : before);
}

// Phase 1: the sum of each tile.
extern "C" __global__ void __launch_bounds__(THREADS) tile_sums(const float* x, float* sums, int n)
{
    __shared__ float words[WARPS];
    int first = blockIdx.x * TILE + threadIdx.x * 4;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        float4 v = load4(x, first + k * THREADS * 4, n);
        sum += (v.x + v.y) + (v.z + v.w);
    }
    float total;
    block_before(sum, words, total);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = total;
}

// Phase 2: sums[t] becomes the sum of the tiles before t. One block goes over all of them.
extern "C" __global__ void __launch_bounds__(SCAN_THREADS) scan_sums(float* sums, int tiles)
{
    __shared__ float words[SCAN_THREADS / 32];
    float carry = 0.0f;
    for (int begin = 0; begin < tiles; begin += SCAN_THREADS) {
        int t = begin + threadIdx.x;
        float total;
        float before = block_before(t < tiles ? sums[t] : 0.0f, words, total);
        if (t < tiles)
            sums[t] = carry + before;
        carry += total;
    }
}

// Phase 3: the running sums of each tile, on top of what is before the tile.
extern "C" __global__ void __launch_bounds__(THREADS) scan_tiles(const float* x, const float* sums, float* out, int n)
{
    __shared__ float words[WARPS];
    int lane = threadIdx.x % 32;

    // The last tiles first: they were read last in phase 1, so some of them are still in the L2.
    int tile = gridDim.x - 1 - blockIdx.x;

    // A warp owns PACKS · 128 floats in a row; in each request its lanes read 32 float4s side by side.
    int first = tile * TILE + threadIdx.x / 32 * (PACKS * 128) + lane * 4;
    float4 v[PACKS];
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
        v[k] = load4(x, first + k * 128, n);

    // Running sums in each float4, then over the warp's, then the sum of the packs before.
    float warp_total = 0.0f;
    float before[PACKS];
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        v[k].y += v[k].x;
        v[k].z += v[k].y;
        v[k].w += v[k].z;
        float scanned = warp_scan(v[k].w);
        before[k] = warp_total + (scanned - v[k].w);
        warp_total += __shfl_sync(0xffffffff, scanned, 31);
    }

    // Lane 31 alone brings the warp's sum: what is before it in the block is before the warp.
    float total;
    float before_warp = block_before(lane == 31 ? warp_total : 0.0f, words, total);
    before_warp = sums[tile] + __shfl_sync(0xffffffff, before_warp, 31);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        float add = before_warp + before[k];
        store4(out, first + k * 128, n, {v[k].x + add, v[k].y + add, v[k].z + add, v[k].w + add});
    }
}
