// transpose_v2: out is x with rows and columns exchanged, through a tile in shared memory.
//
// A block fills a tile of 32 x 32 floats by its rows and takes it out by its columns, so that the lanes of a warp are
// neighbours in x and in out.

#define TILE 32 // rows and columns of a tile: a warp has a lane for each column
#define STEP 8  // rows that the block moves at once: 256 threads, 4 elements for each

// launch transpose_v2(x, out, rows, cols): grid=(cdiv(cols, TILE), cdiv(rows, TILE)) block=(TILE, STEP)

extern "C" __global__ void transpose_v2(const float* x, float* out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE];

    // Lanes along a row of x: 32 neighbouring floats. A thread goes down its column, STEP rows at a time.
    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int k = 0; k < TILE; k += STEP)
        if (r + k < rows && c < cols)
            tile[threadIdx.y + k][threadIdx.x] = x[(r + k) * cols + c];

    // YOUR CODE: what must happen before a thread may take elements that other threads have brought?

    // YOUR CODE: which elements does this thread write, so that the lanes are neighbours in out?
}
