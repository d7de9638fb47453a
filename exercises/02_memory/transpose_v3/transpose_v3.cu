// transpose_v3: out is x with rows and columns exchanged, through a tile without bank conflicts.
//
// The kernel is transpose_v2's: a tile of 32 x 32 floats, filled by its rows and taken out by its columns.

#define TILE 32 // rows and columns of a tile
#define STEP 8  // rows that the block moves at once: 256 threads, 4 elements for each

// launch transpose_v3(x, out, rows, cols): grid=(cdiv(cols, TILE), cdiv(rows, TILE)) block=(TILE, STEP)

extern "C" __global__ void transpose_v3(const float* x, float* out, int rows, int cols)
{
    // YOUR CODE: the tile, laid out so that the words of a row are in 32 different banks, and those of a column, too.

    // Lanes along a row of x, and along a row of the tile.
    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
    // YOUR CODE: fill the tile.

    // Barrier: a column of the tile has been brought by all warps.
    __syncthreads();

    // Lanes along a row of out, and down a column of the tile.
    c = blockIdx.x * TILE + threadIdx.y;
    r = blockIdx.y * TILE + threadIdx.x;
    // YOUR CODE: write what the tile has to out.
}
