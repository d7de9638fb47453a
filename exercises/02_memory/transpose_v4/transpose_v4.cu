// transpose_v4: out is x with rows and columns exchanged, with eight loads of each thread in flight.
//
// A block of 512 threads moves a tile of 64 x 64 floats: 8 elements for each thread.

#define TILE 64 // rows and columns of a tile
#define STEP 8  // rows that the block reads at once: 512 threads, 64 in a row

// launch transpose_v4(x, out, rows, cols): grid=(cdiv(cols, TILE), cdiv(rows, TILE)) block=(TILE, STEP)

extern "C" __global__ void transpose_v4(const float* x, float* out, int rows, int cols)
{
    // YOUR CODE: the tile, without bank conflicts, as in transpose_v3.

    // YOUR CODE: this thread's 8 loads, rows r, r + STEP, r + 2 * STEP … of column c. Then the stores to the tile.

    // YOUR CODE: a barrier.

    // YOUR CODE: this thread's 8 elements of out, columns c, c + STEP, c + 2 * STEP … of row r.
}
