// conv_2d: each result is the sum of 7 x 7 pixels around its place, each times its weight in MASK. Outside of the image
// pixels are 0.
//
// A block goes down a strip of the image. The rows that it needs are in a ring in shared memory, with 3 pixels more on all
// sides; those of the next step are under way while it computes. A thread computes 4 x 4 results in a step: a row of the
// ring that it has in registers serves up to four rows of results.

#include <cuda_pipeline.h>

#define RADIUS 3
#define WINDOW (2 * RADIUS + 1)
#define PACKS 32             // of a row of the strip, four results each: one for each lane of a warp
#define WARPS 4              // of a block
#define ROWS 4               // of results that a thread computes in a step
#define TALL (WARPS * ROWS)  // rows of results of a step
#define STEPS 8              // of a block
#define WIDE (PACKS + 2)     // packs of a row in shared memory: one more on either side, though 3 pixels would do
#define RING 64              // rows in shared memory: TALL + 2 * RADIUS in use, TALL under way; a power of two

__constant__ float MASK[WINDOW * WINDOW];

// constant MASK = mask
// launch conv_2d(image, out, rows, cols): grid=(cdiv(cols, 4*PACKS), cdiv(rows, STEPS*TALL)) block=(PACKS, WARPS)

// Pixels c to c + 3 of row r to shared memory. What lies outside of the image is 0. Rows of a multiple of 4 pixels all
// begin at multiples of 16 bytes, others do not.
__device__ void copy_pack(float4* to, const float* image, int rows, int cols, int r, int c)
{
    // YOUR CODE: one copy of 16 bytes where rows have a multiple of 4 pixels; else pixel by pixel. Some lie outside.
}

// Where row r of the image is in the ring.
__device__ float4* ring_row(float4* ring, int r)
{
    return ring + (r & (RING - 1)) * WIDE;
}

// Rows first to first + count - 1 of the strip to the ring. The block does not wait for them here.
__device__ void fetch(float4* ring, const float* image, int rows, int cols, int first, int count)
{
    // YOUR CODE: WIDE packs of each row. The first one lies 4 pixels left of the results.

    __pipeline_commit();
}

extern "C" __global__ void __launch_bounds__(PACKS * WARPS) conv_2d(const float* image, float* out, int rows, int cols)
{
    __shared__ float4 ring[RING * WIDE];
    int lane = threadIdx.x, warp = threadIdx.y;
    int begin = blockIdx.y * STEPS * TALL, end = min(begin + STEPS * TALL, rows);
    int col = 4 * PACKS * blockIdx.x + 4 * lane;

    fetch(ring, image, rows, cols, begin - RADIUS, TALL + 2 * RADIUS);
    for (int top = begin; top < end; top += TALL) {
        __pipeline_wait_prior(0);

        // A thread reads what other threads have copied, and nobody reads the rows any more that the next copies replace.
        __syncthreads();
        if (top + TALL < end)
            fetch(ring, image, rows, cols, top + TALL + RADIUS, TALL);

        int mine = top + warp * ROWS;
        float sum[ROWS][4] = {};
        // YOUR CODE: take each of the ROWS + 2 * RADIUS rows that this thread needs into registers, 3 packs.
        // YOUR CODE: from there add all products that they are part of.

        // YOUR CODE: store ROWS packs of results from column col on. out has rows * cols floats.
    }
}
