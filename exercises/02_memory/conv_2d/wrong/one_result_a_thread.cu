// expect: sim=pass gpu=slow
// A shared load for each multiply-add: shared memory is slower than the arithmetic.

// conv_2d, with one result a thread: a tile of 8 rows of 32, and its halo.

#define RADIUS 3
#define WINDOW (2 * RADIUS + 1)
#define WIDE (32 + 2 * RADIUS)
#define HIGH (8 + 2 * RADIUS)

__constant__ float MASK[WINDOW * WINDOW];

// constant MASK = mask
// launch conv_2d(image, out, rows, cols): grid=(cdiv(cols, 32), cdiv(rows, 8)) block=(32, 8)

extern "C" __global__ void conv_2d(const float* image, float* out, int rows, int cols)
{
    __shared__ float tile[HIGH * WIDE];
    int top = 8 * blockIdx.y, left = 32 * blockIdx.x;
    for (int k = 32 * threadIdx.y + threadIdx.x; k < HIGH * WIDE; k += 256) {
        int r = top - RADIUS + k / WIDE, c = left - RADIUS + k % WIDE;
        bool inside = r >= 0 && r < rows && c >= 0 && c < cols;
        tile[k] = inside ? image[(size_t)r * cols + c] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 1
    for (int i = 0; i < WINDOW; ++i)
        for (int j = 0; j < WINDOW; ++j)
            sum = fmaf(MASK[WINDOW * i + j], tile[(threadIdx.y + i) * WIDE + threadIdx.x + j], sum);
    int r = top + threadIdx.y, c = left + threadIdx.x;
    if (r < rows && c < cols)
        out[(size_t)r * cols + c] = sum;
}
