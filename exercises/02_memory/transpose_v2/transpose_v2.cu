// transpose_v2: out is x with rows and columns exchanged, through a tile in shared memory.
//
// A block fills a tile of 16 x 16 floats by its rows and takes it out by its columns, so that the lanes of a warp are
// neighbours in x and in out.

#define TILE 16 // rows and columns of a tile: a row of it is 64 bytes, two whole sectors

// launch transpose_v2(x, out, rows, cols): grid=(cdiv(cols, TILE), cdiv(rows, TILE)) block=(TILE, TILE)

extern "C" __global__ void transpose_v2(const float* x, float* out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE];

    // Lanes along a row of x: 16 neighbouring floats, and 16 of the next row.
    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = x[r * cols + c];

    // YOUR CODE: what must happen before a thread may take an element that another one has brought?

    // YOUR CODE: which element does this thread write, so that the lanes are neighbours in out?
}
