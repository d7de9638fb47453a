// conv_2d: each result is the sum of 7 x 7 pixels around its place, each times its weight in MASK. Outside of the image
// pixels are 0.
//
// A warp goes down a strip of the image, seven rows in a step. While it computes, the rows of the next step are on their
// way to registers. From there they go to shared memory, where a lane reads three packs of four pixels of each row: its
// own and its neighbours'. A row has a part in seven rows of results; their sums stay in registers until complete.

#define RADIUS 3
#define WINDOW (2 * RADIUS + 1)  // also the rows of a step
#define PACKS 32                 // of a row of the strip, four pixels each: one for each lane of a warp
#define WIDE (PACKS + 2)         // packs of a row in shared memory: one more on either side, though 3 pixels would do
#define WARPS 4                  // of a block, side by side; none waits for another
#define STEPS 30                 // of a strip
#define HIGH (STEPS * WINDOW - 2 * RADIUS)  // rows of results of a strip; it reads RADIUS rows more above and below

__constant__ float MASK[WINDOW * WINDOW];

// constant MASK = mask
// launch conv_2d(image, out, rows, cols): grid=(cdiv(cols, 4*PACKS*WARPS), cdiv(rows, HIGH)) block=(PACKS, WARPS)

// A lane's part of the rows of a step.
struct Rows {
    float4 pack[WINDOW];  // its own pack of each row
    float4 beside;        // a pack beside the strip: lane 2 * y has the one left of row y, the next lane the right one
};

// Pixels c to c + 3 of a row, of which `from` is the first. What lies outside of the image is 0. Rows of a multiple of 4
// pixels all begin at multiples of 16 bytes, others do not.
__device__ float4 load_pack(const float* from, bool row_inside, int c, int cols)
{
    float4 v = {0.0f, 0.0f, 0.0f, 0.0f};
    if (!row_inside || c < 0 || c >= cols)
        return v;
    if (cols % 4 == 0)
        return *reinterpret_cast<const float4*>(from);
    v.x = from[0];
    v.y = c + 1 < cols ? from[1] : 0.0f;
    v.z = c + 2 < cols ? from[2] : 0.0f;
    v.w = c + 3 < cols ? from[3] : 0.0f;
    return v;
}

// Rows first to first + WINDOW - 1 of the strip that begins in column left, but none from row last on. The lane does not
// wait for them here, only where it uses them.
__device__ Rows load_rows(const float* image, int last, int cols, int first, int left)
{
    int lane = threadIdx.x, col = left + 4 * lane, side = lane % 2 ? left + 4 * PACKS : left - 4;
    const float* from = image + (long long)first * cols;
    Rows loaded;
#pragma unroll
    for (int y = 0; y < WINDOW; ++y)
        loaded.pack[y] = load_pack(from + (long long)y * cols + col, first + y >= 0 && first + y < last, col, cols);
    int y = lane / 2;
    bool inside = y < WINDOW && first + y >= 0 && first + y < last;
    loaded.beside = load_pack(from + (long long)y * cols + side, inside, side, cols);
    return loaded;
}

// Four results of a row to columns c to c + 3.
__device__ void store_pack(float* to, const float* v, int c, int cols)
{
    if (cols % 4 == 0) {
        if (c < cols)
            *reinterpret_cast<float4*>(to) = {v[0], v[1], v[2], v[3]};
    } else {
#pragma unroll
        for (int x = 0; x < 4; ++x)
            if (c + x < cols)
                to[x] = v[x];
    }
}

extern "C" __global__ void __launch_bounds__(PACKS * WARPS) conv_2d(const float* image, float* out, int rows, int cols)
{
    __shared__ float4 tiles[WARPS][WINDOW][WIDE];
    int lane = threadIdx.x, left = 4 * PACKS * (WARPS * blockIdx.x + threadIdx.y), col = left + 4 * lane;
    int begin = blockIdx.y * HIGH, end = min(begin + HIGH, rows), last = min(end + RADIUS, rows);
    float4(*tile)[WIDE] = tiles[threadIdx.y];

    float sum[WINDOW][4] = {};
    Rows next = load_rows(image, last, cols, begin - RADIUS, left);
    for (int top = begin - RADIUS; top < end + RADIUS; top += WINDOW) {
        // Some lanes may still read the rows of the step before.
        __syncwarp();
#pragma unroll
        for (int y = 0; y < WINDOW; ++y)
            tile[y][1 + lane] = next.pack[y];
        if (lane < 2 * WINDOW)
            tile[lane / 2][lane % 2 * (WIDE - 1)] = next.beside;

        // A lane reads what its neighbours have stored.
        __syncwarp();
        next = load_rows(image, last, cols, top + WINDOW, left);

        // Row y of the step has mask row 0 in a new row of results, and mask row 6 in one that is then complete. The sums
        // of the new row have place y, those of older ones the places before. All indices are constants once the loops
        // are unrolled: the sums are in registers, and a weight is an operand of the fma.
#pragma unroll
        for (int y = 0; y < WINDOW; ++y) {
            float4 a = tile[y][lane], b = tile[y][lane + 1], c = tile[y][lane + 2];
            float v[12] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w};
#pragma unroll
            for (int x = 0; x < 4; ++x)
                sum[y][x] = 0.0f;
#pragma unroll
            for (int i = 0; i < WINDOW; ++i)
#pragma unroll
                for (int j = 0; j < WINDOW; ++j)
#pragma unroll
                    for (int x = 0; x < 4; ++x) {
                        float& s = sum[(y - i + WINDOW) % WINDOW][x];
                        s = fmaf(MASK[WINDOW * i + j], v[1 + x + j], s);
                    }

            int done = top + y - RADIUS;
            if (done >= begin && done < end)
                store_pack(out + (long long)done * cols + col, sum[(y + 1) % WINDOW], col, cols);
        }
    }
}
