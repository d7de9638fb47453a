// bank_conflicts: three kernels put the same 32 * rows floats into three other orders, through a tile in shared memory.
//
// As they come, all three are right, and each makes its warps queue at the banks: 2-way, 8-way, 32-way. Every word of a
// tile has a number i and a slot. Leave the numbers alone, and choose better slots. Each tile has 32 words to spare.

// launch split_pairs(x, planes, rows, rounds): grid=cdiv(rows, 32) block=256
// launch merge_eight(x, merged, rows, rounds): grid=cdiv(rows, 32) block=256
// launch transpose_rows(x, columns, rows, rounds): grid=cdiv(rows, 32) block=256

// The threads of a block put four words each into their slots `from`, and take those in the slots `to`.
__device__ void exchange(float* tile, const int* from, const int* to, float* word)
{
    for (int k = 0; k < 4; k++)
        tile[from[k]] = word[k];

    // Barrier: a thread now takes words that others stored. None is needed after that: the next way leads through the
    // other tile, and its barrier comes before this tile is used again.
    __syncthreads();

    for (int k = 0; k < 4; k++)
        word[k] = tile[to[k]];
}

// The words go to their new places, and `rounds` times back, through the second tile, and there again.
__device__ void move_words(float (*tiles)[1024 + 32], const int* from, const int* to, float* word, int rounds)
{
    exchange(tiles[0], from, to, word);
    for (int round = 0; round < rounds; round++) {
        exchange(tiles[1], to, from, word);
        exchange(tiles[0], from, to, word);
    }
}

// Where word i of split_pairs' tile lives, for i = 0 … 1023.
__device__ int pair_slot(int i)
{
    // YOUR CODE
    return i;
}

// Pairs L R L R L R … become a plane of all L and a plane of all R.
extern "C" __global__ void split_pairs(const float* x, float* planes, int rows, int rounds)
{
    __shared__ float tiles[2][1024 + 32];

    // The block's 1024 words are 512 pairs. Threads take the L of all of them first, then the R: each time one piece.
    int from[4], to[4];
    float word[4];
    for (int k = 0; k < 4; k++) {
        int j = threadIdx.x + 256 * k;
        int i = blockIdx.x * 1024 + j;
        word[k] = i < 32 * rows ? x[i] : 0.0f;
        from[k] = pair_slot(j);
        to[k] = pair_slot(2 * (j % 512) + j / 512);
    }

    move_words(tiles, from, to, word, rounds);

    for (int k = 0; k < 4; k++) {
        int j = threadIdx.x + 256 * k;
        int pair = blockIdx.x * 512 + j % 512;
        if (pair < 16 * rows)
            planes[16 * rows * (j / 512) + pair] = word[k];
    }
}

// Where word i of merge_eight's tile lives, for i = 0 … 1023.
__device__ int eight_slot(int i)
{
    // YOUR CODE
    return i;
}

// Eight planes A A A …, B B B …, … become records A B C D E F G H A B C ….
extern "C" __global__ void merge_eight(const float* x, float* merged, int rows, int rounds)
{
    __shared__ float tiles[2][1024 + 32];

    // The block's 1024 words are 128 records. A warp takes 32 words of one plane.
    int from[4], to[4];
    float word[4];
    for (int k = 0; k < 4; k++) {
        int j = threadIdx.x + 256 * k;
        int record = blockIdx.x * 128 + j % 128;
        word[k] = record < 4 * rows ? x[4 * rows * (j / 128) + record] : 0.0f;
        from[k] = eight_slot(8 * (j % 128) + j / 128);
        to[k] = eight_slot(j);
    }

    move_words(tiles, from, to, word, rounds);

    for (int k = 0; k < 4; k++) {
        int i = blockIdx.x * 1024 + threadIdx.x + 256 * k;
        if (i < 32 * rows)
            merged[i] = word[k];
    }
}

// Where word i of transpose_rows' tile lives, for i = 0 … 1023.
__device__ int tile_slot(int i)
{
    // YOUR CODE
    return i;
}

// Rows of 32 words become 32 columns: a transpose, one 32 x 32 tile for each block.
extern "C" __global__ void transpose_rows(const float* x, float* columns, int rows, int rounds)
{
    __shared__ float tiles[2][1024 + 32];

    // A warp takes every eighth row of the tile, a lane for each word; and then every eighth column, a lane for each row,
    // so that it writes 32 neighbouring floats.
    int warp = threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    int first = blockIdx.x * 32;
    int from[4], to[4];
    float word[4];
    for (int k = 0; k < 4; k++) {
        int line = warp + 8 * k;
        word[k] = first + line < rows ? x[32 * (first + line) + lane] : 0.0f;
        from[k] = tile_slot(32 * line + lane);
        to[k] = tile_slot(32 * lane + line);
    }

    move_words(tiles, from, to, word, rounds);

    for (int k = 0; k < 4; k++)
        if (first + lane < rows)
            columns[rows * (warp + 8 * k) + first + lane] = word[k];
}
