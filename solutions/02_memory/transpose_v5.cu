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
    if (left >= 4 && first % 4 == 0)
        return *reinterpret_cast<const float4*>(from + first);

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
    if (left >= 4 && first % 4 == 0) {
        *reinterpret_cast<float4*>(to + first) = four;
        return;
    }

    if (left > 0)
        to[first] = four.x;
    if (left > 1)
        to[first + 1] = four.y;
    if (left > 2)
        to[first + 2] = four.z;
    if (left > 3)
        to[first + 3] = four.w;
}

// Where the tile has float4 number `group` of row `row`. The 8 lanes that are served together store to rows that are 4
// apart, and all to the same group. So it is row / 4 that sends them to different banks: 8 float4 fill all 32 of them.
__device__ int place(int row, int group)
{
    return row * GROUPS + (group ^ (row / 4 % 8));
}

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

    // The square by its columns: each float4 takes one float of each load.
    tile[place(4 * across + 0, down)] = make_float4(four[0].x, four[1].x, four[2].x, four[3].x);
    tile[place(4 * across + 1, down)] = make_float4(four[0].y, four[1].y, four[2].y, four[3].y);
    tile[place(4 * across + 2, down)] = make_float4(four[0].z, four[1].z, four[2].z, four[3].z);
    tile[place(4 * across + 3, down)] = make_float4(four[0].w, four[1].w, four[2].w, four[3].w);

    // Barrier: a row of the tile has been brought by all warps.
    __syncthreads();

    // A row of the tile is a piece of a row of out, which has `rows` floats. 16 threads take it out, a float4 each.
    r = blockIdx.y * TILE + 4 * across;
#pragma unroll
    for (int k = 0; k < TILE; k += GROUPS) {
        c = blockIdx.x * TILE + down + k;
        store_four(out, c * rows + r, c < cols ? rows - r : 0, tile[place(down + k, across)]);
    }
}
