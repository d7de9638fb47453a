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
    if (cols % 4 == 0) {
        if (c >= 0 && c < cols)
            v = *reinterpret_cast<const float4*>(row + c);
    } else if (c >= 0) {
        v.x = c < cols ? row[c] : 0.0f;
        v.y = c + 1 < cols ? row[c + 1] : 0.0f;
        v.z = c + 2 < cols ? row[c + 2] : 0.0f;
        v.w = c + 3 < cols ? row[c + 3] : 0.0f;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(PACKS * WARPS) conv_2d(const float* image, float* out, int rows, int cols)
{
    __shared__ float4 tile[HIGH * WIDE];
    int lane = threadIdx.x, warp = threadIdx.y;
    int top = blockIdx.y * TALL, left = 4 * PACKS * blockIdx.x;

    // tile[0] is the pack of 4 pixels that ends left of the results, 3 rows above them. A division by a constant is a
    // multiplication and a shift.
#pragma unroll
    for (int u = 0; u < (HIGH * WIDE + PACKS * WARPS - 1) / (PACKS * WARPS); ++u) {
        int k = u * PACKS * WARPS + warp * PACKS + lane;
        if (k < HIGH * WIDE)
            tile[k] = load_pack(image, rows, cols, top - RADIUS + k / WIDE, left - 4 + 4 * (k % WIDE));
    }

    // A thread reads what other threads have stored.
    __syncthreads();

    // Row y of the thread's part of the tile has weights in result row r if it is one of r to r + 6. All indices are
    // constants once the loops are unrolled: the sums are in registers, and a weight is an operand of the fma.
    float sum[ROWS][4] = {};
#pragma unroll
    for (int y = 0; y < ROWS + 2 * RADIUS; ++y) {
        const float4* packs = tile + (warp * ROWS + y) * WIDE + lane;
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

    int col = left + 4 * lane;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        int row = top + warp * ROWS + r;
        if (row >= rows)
            break;
        float* to = out + (size_t)row * cols + col;
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
