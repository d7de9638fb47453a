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
    bool inside = r >= 0 && r < rows && c >= 0 && c < cols;
    const float* from = image + (inside ? (size_t)r * cols + c : 0);
    if (cols % 4 == 0) {
        // The last operand: how many of the 16 bytes are zeros instead.
        __pipeline_memcpy_async(to, from, 16, inside ? 0 : 16);
    } else {
        float4 v = {0.0f, 0.0f, 0.0f, 0.0f};
        if (inside) {
            v.x = from[0];
            v.y = c + 1 < cols ? from[1] : 0.0f;
            v.z = c + 2 < cols ? from[2] : 0.0f;
            v.w = c + 3 < cols ? from[3] : 0.0f;
        }
        *to = v;
    }
}

// Where row r of the image is in the ring.
__device__ float4* ring_row(float4* ring, int r)
{
    return ring + (r & (RING - 1)) * WIDE;
}

// Rows first to first + count - 1 of the strip to the ring. The block does not wait for them here.
__device__ void fetch(float4* ring, const float* image, int rows, int cols, int first, int count)
{
    int left = 4 * PACKS * blockIdx.x;
    for (int r = first + threadIdx.y; r < first + count; r += WARPS)
        copy_pack(ring_row(ring, r) + 1 + threadIdx.x, image, rows, cols, r, left + 4 * threadIdx.x);

    // The packs on either side: two for each row.
    for (int k = threadIdx.y * PACKS + threadIdx.x; k < 2 * count; k += WARPS * PACKS) {
        int r = first + k / 2;
        copy_pack(ring_row(ring, r) + k % 2 * (WIDE - 1), image, rows, cols, r, k % 2 ? left + 4 * PACKS : left - 4);
    }
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

        // Row y of the rows that the thread needs has weights in result row r if it is one of r to r + 6. All indices are
        // constants once the loops are unrolled: the sums are in registers, and a weight is an operand of the fma.
        int mine = top + warp * ROWS;
        float sum[ROWS][4] = {};
#pragma unroll
        for (int y = 0; y < ROWS + 2 * RADIUS; ++y) {
            const float4* packs = ring_row(ring, mine - RADIUS + y) + lane;
            float4 a = packs[0], b = packs[1], c = packs[2];
            float v[12] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w};
#pragma unroll
            for (int r = 0; r < ROWS; ++r)
                if (y - r >= 0 && y - r < WINDOW)
#pragma unroll
                    for (int j = 0; j < WINDOW; ++j)
#pragma unroll
                        for (int x = 0; x < 4; ++x)
                            sum[r][x] = fmaf(MASK[WINDOW * (y - r) + j], v[1 + x + j], sum[r][x]);
        }

#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            if (mine + r >= rows)
                break;
            float* to = out + (size_t)(mine + r) * cols + col;
            if (cols % 4 == 0) {
                if (col < cols)
                    *reinterpret_cast<float4*>(to) = {sum[r][0], sum[r][1], sum[r][2], sum[r][3]};
            } else {
#pragma unroll
                for (int x = 0; x < 4; ++x)
                    if (col + x < cols)
                        to[x] = sum[r][x];
            }
        }
    }
}
