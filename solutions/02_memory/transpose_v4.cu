// transpose_v4: out is x with rows and columns exchanged, with eight loads of each thread in flight.
//
// A block of 512 threads moves a tile of 64 x 64 floats: 8 elements for each thread.

#define TILE 64 // rows and columns of a tile
#define STEP 8  // rows that the block reads at once: 512 threads, 64 in a row

// launch transpose_v4(x, out, rows, cols): grid=(cdiv(cols, TILE), cdiv(rows, TILE)) block=(TILE, STEP)

extern "C" __global__ void transpose_v4(const float* x, float* out, int rows, int cols)
{
    // One word of padding for each row: going down a column is a stride of 65 words, and 65 % 32 is 1.
    __shared__ float tile[TILE][TILE + 1];

    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;

    // First all loads, into registers: none depends on another, so that 8 of each thread are in flight at once.
    float held[TILE / STEP];
#pragma unroll
    for (int k = 0; k < TILE; k += STEP)
        held[k / STEP] = r + k < rows && c < cols ? x[(r + k) * cols + c] : 0.0f;

    // Then the stores, by rows of the tile: neighbouring words for neighbouring lanes.
#pragma unroll
    for (int k = 0; k < TILE; k += STEP)
        tile[threadIdx.y + k][threadIdx.x] = held[k / STEP];

    // Barrier: a column of the tile has been brought by all warps.
    __syncthreads();

    // Back by columns of the tile, which are rows of out.
    c = blockIdx.x * TILE + threadIdx.y;
    r = blockIdx.y * TILE + threadIdx.x;
#pragma unroll
    for (int k = 0; k < TILE; k += STEP)
        if (r < rows && c + k < cols)
            out[(c + k) * rows + r] = tile[threadIdx.x][threadIdx.y + k];
}
