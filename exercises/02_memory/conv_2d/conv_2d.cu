// conv_2d: each result is the sum of 7 x 7 pixels around its place, each times its weight in MASK. Outside of the image
// pixels are 0.
//
// A block copies its tile, and 3 pixels on all sides of it, to shared memory. A thread computes 4 x 4 results: a row of
// the tile that it has in registers serves up to four rows of results.

#define RADIUS 3
#define WINDOW (2 * RADIUS + 1)
#define PACKS 32                  // of a tile's row, four results each: one for each lane of a warp
#define WARPS 8                   // of a block
#define ROWS 4                    // of results that a thread computes
#define TALL (WARPS * ROWS)       // rows of results in a tile
#define WIDE (PACKS + 2)          // packs of a row in shared memory: one more on either side, though 3 pixels would do
#define HIGH (TALL + 2 * RADIUS)  // rows in shared memory

__constant__ float MASK[WINDOW * WINDOW];

// constant MASK = mask
// launch conv_2d(image, out, rows, cols): grid=(cdiv(cols, 4*PACKS), cdiv(rows, TALL)) block=(PACKS, WARPS)

// Pixels c to c + 3 of row r. What lies outside of the image is 0. Rows of a multiple of 4 pixels all begin at multiples
// of 16 bytes, others do not.
__device__ float4 load_pack(const float* image, int rows, int cols, int r, int c)
{
    float4 v = {0.0f, 0.0f, 0.0f, 0.0f};
    if (r < 0 || r >= rows)
        return v;
    const float* row = image + (size_t)r * cols;
    // YOUR CODE: one load of 16 bytes where rows have a multiple of 4 pixels; else pixel by pixel. Some lie outside.

    return v;
}

extern "C" __global__ void __launch_bounds__(PACKS * WARPS) conv_2d(const float* image, float* out, int rows, int cols)
{
    __shared__ float4 tile[HIGH * WIDE];
    int lane = threadIdx.x, warp = threadIdx.y;
    int top = blockIdx.y * TALL, left = 4 * PACKS * blockIdx.x;

    // YOUR CODE: copy HIGH rows of WIDE packs to the tile. tile[0] lies 4 pixels left of the results, 3 rows above them.

    // A thread reads what other threads have stored.
    __syncthreads();

    float sum[ROWS][4] = {};
    // YOUR CODE: take each of the ROWS + 2 * RADIUS rows of the tile that this thread needs into registers, 3 packs.
    // YOUR CODE: from there add all products that they are part of.

    int col = left + 4 * lane;
    // YOUR CODE: store ROWS packs of results from column col on. out has rows * cols floats.

}
