// bank_conflicts: three kernels put the same 32 * rows floats into three other orders, through a tile in shared memory.
//
// As they come, all three are right, and each makes its warps queue at the banks: 2-way, 8-way, 32-way. Every word of a
// tile has a number i and a slot. Leave the numbers alone, and choose better slots. Each tile has a few words to spare.

// launch split_pairs(x, planes, rows): grid=cdiv(rows, 8) block=256
// launch merge_eight(x, merged, rows): grid=cdiv(rows, 8) block=256
// launch transpose_rows(x, columns, rows): grid=cdiv(rows, 32) block=256

// Where word i of split_pairs' tile lives, for i = 0 … 255.
__device__ int pair_slot(int i)
{
    // YOUR CODE
    return i;
}

// Pairs L R L R L R … become a plane of all L and a plane of all R.
extern "C" __global__ void split_pairs(const float* x, float* planes, int rows)
{
    __shared__ float tile[256 + 8];

    int t = threadIdx.x;
    int word = blockIdx.x * 256 + t;
    if (word < 32 * rows)
        tile[pair_slot(t)] = x[word];

    // Barrier: a thread now takes a word that another one stored.
    __syncthreads();

    // Threads 0–127 write the L of the tile's 128 pairs, threads 128–255 the R: both in one piece.
    int side = t / 128;
    int k = t % 128;
    int pair = blockIdx.x * 128 + k;
    if (pair < 16 * rows)
        planes[16 * rows * side + pair] = tile[pair_slot(2 * k + side)];
}

// Where word i of merge_eight's tile lives, for i = 0 … 255.
__device__ int eight_slot(int i)
{
    // YOUR CODE
    return i;
}

// Eight planes A A A …, B B B …, … become records A B C D E F G H A B C ….
extern "C" __global__ void merge_eight(const float* x, float* merged, int rows)
{
    __shared__ float tile[256 + 8];

    // One warp for each plane, one lane for each of the block's 32 records.
    int t = threadIdx.x;
    int plane = t / 32;
    int lane = t % 32;
    int record = blockIdx.x * 32 + lane;
    if (record < 4 * rows)
        tile[eight_slot(8 * lane + plane)] = x[4 * rows * plane + record];

    // Barrier: a record has been stored by eight warps.
    __syncthreads();

    int word = blockIdx.x * 256 + t;
    if (word < 32 * rows)
        merged[word] = tile[eight_slot(t)];
}

// Where word i of transpose_rows' tile lives, for i = 0 … 1023.
__device__ int tile_slot(int i)
{
    // YOUR CODE
    return i;
}

// Rows of 32 words become 32 columns: a transpose, one 32 x 32 tile for each block.
extern "C" __global__ void transpose_rows(const float* x, float* columns, int rows)
{
    __shared__ float tile[1024 + 32];

    int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    int first = blockIdx.x * 32;

    // A warp takes every eighth row of the tile, a lane for each word.
    for (int r = warp; r < 32; r += 8)
        if (first + r < rows)
            tile[tile_slot(32 * r + lane)] = x[32 * (first + r) + lane];

    // Barrier: a column has a word of every row, and each row was stored by one warp.
    __syncthreads();

    // A warp takes every eighth column, a lane for each row, so that it writes 32 neighbouring floats.
    for (int c = warp; c < 32; c += 8)
        if (first + lane < rows)
            columns[rows * c + first + lane] = tile[tile_slot(32 * lane + c)];
}
