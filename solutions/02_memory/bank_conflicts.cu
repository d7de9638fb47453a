// bank_conflicts: three kernels put the same 32 * rows floats into three other orders, through a tile in shared memory.
//
// As they come, all three are right, and each makes its warps queue at the banks: 2-way, 8-way, 32-way. Every word of a
// tile has a number i and a slot. Leave the numbers alone, and choose better slots. Each tile has a few words to spare.
//
// A kernel goes through its tile `rounds` times, with the same words each time: once would be over before a clock on the
// GPU has noticed, behind the way to memory and back.

// launch split_pairs(x, planes, rows, rounds): grid=cdiv(rows, 8) block=256
// launch merge_eight(x, merged, rows, rounds): grid=cdiv(rows, 8) block=256
// launch transpose_rows(x, columns, rows, rounds): grid=cdiv(rows, 32) block=256

// Where word i of split_pairs' tile lives, for i = 0 … 255.
__device__ int pair_slot(int i)
{
    // The lanes ask for words 2k + side: lanes 0–15 fall into the banks of that side, and lanes 16–31, one row of 32
    // words further, into the same ones. Every second row swaps its neighbours (a swizzle): now it is the other banks.
    i ^= i / 32 % 2;
    return i;
}

// Pairs L R L R L R … become a plane of all L and a plane of all R.
extern "C" __global__ void split_pairs(const float* x, float* planes, int rows, int rounds)
{
    __shared__ float tile[256 + 8];

    int t = threadIdx.x;
    int word = blockIdx.x * 256 + t;
    float in = word < 32 * rows ? x[word] : 0.0f;

    // Threads 0–127 take the L of the tile's 128 pairs, threads 128–255 the R: both write one piece.
    int side = t / 128;
    int k = t % 128;
    float out = 0.0f;
    for (int round = 0; round < rounds; round++) {
        tile[pair_slot(t)] = in;

        // Barrier: a thread now takes a word that another one stored.
        __syncthreads();
        out = tile[pair_slot(2 * k + side)];

        // Barrier: the next round overwrites words that others may still be reading.
        __syncthreads();
    }

    int pair = blockIdx.x * 128 + k;
    if (pair < 16 * rows)
        planes[16 * rows * side + pair] = out;
}

// Where word i of merge_eight's tile lives, for i = 0 … 255.
__device__ int eight_slot(int i)
{
    // The lanes store words 8 * lane + plane: four lanes use up a row of 32 words, and eight rows meet in the same four
    // banks. Row r keeps its word 8a + b in place 8a + (b ^ r), so that the eight rows use eight different b.
    i ^= i / 32 % 8;
    return i;
}

// Eight planes A A A …, B B B …, … become records A B C D E F G H A B C ….
extern "C" __global__ void merge_eight(const float* x, float* merged, int rows, int rounds)
{
    __shared__ float tile[256 + 8];

    // One warp for each plane, one lane for each of the block's 32 records.
    int t = threadIdx.x;
    int plane = t / 32;
    int lane = t % 32;
    int record = blockIdx.x * 32 + lane;
    float in = record < 4 * rows ? x[4 * rows * plane + record] : 0.0f;

    float out = 0.0f;
    for (int round = 0; round < rounds; round++) {
        tile[eight_slot(8 * lane + plane)] = in;

        // Barrier: a record has been stored by eight warps.
        __syncthreads();
        out = tile[eight_slot(t)];

        // Barrier: the next round overwrites words that others may still be reading.
        __syncthreads();
    }

    int word = blockIdx.x * 256 + t;
    if (word < 32 * rows)
        merged[word] = out;
}

// Where word i of transpose_rows' tile lives, for i = 0 … 1023.
__device__ int tile_slot(int i)
{
    // The lanes load words 32 * lane + c, all in bank c. With one word of padding after each row of 32, word i has
    // i / 32 of them before it, and the lanes' words lie 33 apart: 32 different banks.
    i += i / 32;
    return i;
}

// Rows of 32 words become 32 columns: a transpose, one 32 x 32 tile for each block.
extern "C" __global__ void transpose_rows(const float* x, float* columns, int rows, int rounds)
{
    __shared__ float tile[1024 + 32];

    int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    int first = blockIdx.x * 32;

    // A warp takes every eighth row of the tile, a lane for each word.
    float in[4], out[4] = {};
    for (int k = 0; k < 4; k++) {
        int r = warp + 8 * k;
        in[k] = first + r < rows ? x[32 * (first + r) + lane] : 0.0f;
    }

    for (int round = 0; round < rounds; round++) {
        for (int k = 0; k < 4; k++)
            tile[tile_slot(32 * (warp + 8 * k) + lane)] = in[k];

        // Barrier: a column has a word of every row, and each row was stored by one warp.
        __syncthreads();
        for (int k = 0; k < 4; k++)
            out[k] = tile[tile_slot(32 * lane + warp + 8 * k)];

        // Barrier: the next round overwrites words that others may still be reading.
        __syncthreads();
    }

    // A warp takes every eighth column, a lane for each row, so that it writes 32 neighbouring floats.
    for (int k = 0; k < 4; k++)
        if (first + lane < rows)
            columns[rows * (warp + 8 * k) + first + lane] = out[k];
}
