// histogram: how often each of 256 keys occurs among n.
//
// Every lane has a column of 256 counters of its own, a byte each: no atomics, and no two lanes in the same bank. A byte
// holds 255, so a warp adds up its 32 columns before any of them can overflow.

#define WARPS 4
#define THREADS (32 * WARPS)
#define KEYS 16               // of a thread in a round: four int4
#define TILE (KEYS * THREADS) // keys of a block in a round
#define ROUNDS 15             // between two additions: 15 * 16 = 240 keys, at most 255

// zero counts
// launch histogram(x, counts, n): grid=min(cdiv(n, 32 * TILE), 6 * sm_count) block=THREADS

// Adds 1 to the key's byte in the lane's column. The words of a column are 32 words apart, so they are all in one bank.
__device__ void count(unsigned char* column, int key)
{
    ++column[(key & 63) * 128 + (key >> 6)];
}

// The thread's keys of a tile: the lanes of a warp load neighbours.
__device__ void load(int4 (&v)[KEYS / 4], const int4* tile)
{
#pragma unroll
    for (int i = 0; i < KEYS / 4; ++i)
        v[i] = tile[i * THREADS + threadIdx.x];
}

// Adds the 32 columns of a warp to its totals, and sets them to zero. Lane l has the words l and 32 + l of all columns:
// the keys l, l + 64, l + 128, l + 192, and 32 more than these.
__device__ void add_up(unsigned int* columns, unsigned int (&totals)[8], int lane)
{
    __syncwarp();  // the other lanes have counted
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        unsigned int even = 0, odd = 0;  // two sums of 16 bits each: at most 32 * 255
#pragma unroll 8
        for (int j = 0; j < 32; ++j) {
            // Each lane begins with another column: 32 different banks.
            unsigned int* word = columns + (32 * h + lane) * 32 + (lane + j) % 32;
            even += *word & 0x00ff00ff;
            odd += *word >> 8 & 0x00ff00ff;
            *word = 0;
        }
        totals[4 * h] += even & 0xffff;
        totals[4 * h + 1] += odd & 0xffff;
        totals[4 * h + 2] += even >> 16;
        totals[4 * h + 3] += odd >> 16;
    }
    __syncwarp();  // all columns are zero
}

extern "C" __global__ void __launch_bounds__(THREADS) histogram(const int* x, int* counts, int n)
{
    __shared__ unsigned int columns[WARPS][64 * 32];
    __shared__ unsigned int sums[256];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int* mine = columns[warp];
    unsigned char* column = reinterpret_cast<unsigned char*>(mine + lane);
    unsigned int totals[8] = {};

    for (int w = 0; w < 64; ++w)
        mine[w * 32 + lane] = 0;  // the lane's own column: nobody has to wait
    for (int b = threadIdx.x; b < 256; b += THREADS)
        sums[b] = 0;

    const int4* x4 = reinterpret_cast<const int4*>(x);
    int tiles = n / TILE, round = 0;

    // The keys of the next tile are under way while those of this one are counted.
    int4 next[KEYS / 4];
    if (blockIdx.x < tiles)
        load(next, x4 + blockIdx.x * (TILE / 4));
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int4 v[KEYS / 4];
#pragma unroll
        for (int i = 0; i < KEYS / 4; ++i)
            v[i] = next[i];
        if (tile + gridDim.x < tiles)
            load(next, x4 + (tile + gridDim.x) * (TILE / 4));
#pragma unroll
        for (int i = 0; i < KEYS / 4; ++i) {
            count(column, v[i].x);
            count(column, v[i].y);
            count(column, v[i].z);
            count(column, v[i].w);
        }
        if (++round == ROUNDS) {
            add_up(mine, totals, lane);
            round = 0;
        }
    }

    // The last keys are no whole tile: at most 16 for each thread, and 240 + 15 fit in a byte. One block has them.
    if (blockIdx.x == tiles % gridDim.x)
        for (int i = tiles * TILE + threadIdx.x; i < n; i += THREADS)
            count(column, x[i]);
    add_up(mine, totals, lane);

    __syncthreads();  // all sums are zero
#pragma unroll
    for (int k = 0; k < 8; ++k)
        atomicAdd(&sums[k % 4 * 64 + k / 4 * 32 + lane], totals[k]);
    __syncthreads();  // all warps have added

    // One atomic for each key and block, whatever n is.
    for (int b = threadIdx.x; b < 256; b += THREADS)
        if (sums[b])
            atomicAdd(&counts[b], (int)sums[b]);
}
