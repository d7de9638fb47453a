// transpose_v5: out is x with rows and columns exchanged, 16 bytes at a time on both sides, through a swizzled tile.
//
// A block of 256 threads moves a tile of 64 x 64 floats. A thread brings a square of 4 x 4: four floats from each of four
// rows of x. Into the tile go the columns of this square, as float4: each is four neighbours in a row of out.

#define TILE 64           // rows and columns of a tile
#define GROUPS (TILE / 4) // float4 in a row of it

// launch transpose_v5(x, out, rows, cols): grid=(cdiv(cols, TILE), cdiv(rows, TILE)) block=GROUPS*GROUPS

// Four floats from number `first` on, of which `left` are in the row: one access of 16 bytes, if all four are there and
// their address is a multiple of 16. What is outside of the matrix is 0.
__device__ float4 load_four(const float* from, int first, int left)
{
    // YOUR CODE: one access of 16 bytes, where it is allowed.

    // The scalar path: at the end of a row, and in rows that begin anywhere.
    float4 four = {};
    if (left > 0)
        four.x = from[first];
    if (left > 1)
        four.y = from[first + 1];
    if (left > 2)
        four.z = from[first + 2];
    if (left > 3)
        four.w = from[first + 3];
    return four;
}

// The same for a store.
__device__ void store_four(float* to, int first, int left, float4 four)
{
    // YOUR CODE: here, too.

    if (left > 0)
        to[first] = four.x;
    if (left > 1)
        to[first + 1] = four.y;
    if (left > 2)
        to[first + 2] = four.z;
    if (left > 3)
        to[first + 3] = four.w;
}

// YOUR CODE: where the tile has float4 number `group` of row `row`, so that nothing meets in a bank.

extern "C" __global__ void transpose_v5(const float* x, float* out, int rows, int cols)
{
    __shared__ float4 tile[TILE * GROUPS]; // its rows are columns of x

    // Which square: 16 threads are beside each other, and have four whole rows of the tile's part of x.
    int across = threadIdx.x % GROUPS;
    int down = threadIdx.x / GROUPS;

    // All loads come before the first use: 64 bytes of each thread are in flight.
    int r = blockIdx.y * TILE + 4 * down;
    int c = blockIdx.x * TILE + 4 * across;
    float4 four[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        four[k] = load_four(x, (r + k) * cols + c, r + k < rows ? cols - c : 0);

    // YOUR CODE: the square by its columns, into the tile.

    // Barrier: a row of the tile has been brought by all warps.
    __syncthreads();

    // YOUR CODE: the rows of the tile, to out.
}
