// expect: technique
// Each term is loaded from global memory: 196 bytes for each result.

// conv_2d, with a load from global memory for each term.

#define RADIUS 3
#define WINDOW (2 * RADIUS + 1)

__constant__ float MASK[WINDOW * WINDOW];

// constant MASK = mask
// launch conv_2d(image, out, rows, cols): grid=(cdiv(cols, 32), cdiv(rows, 8)) block=(32, 8)

extern "C" __global__ void conv_2d(const float* image, float* out, int rows, int cols)
{
    int c = blockIdx.x * 32 + threadIdx.x;
    int r = blockIdx.y * 8 + threadIdx.y;
    if (r >= rows || c >= cols)
        return;
    float sum = 0.0f;
    for (int i = 0; i < WINDOW; ++i)
        for (int j = 0; j < WINDOW; ++j) {
            int y = r + i - RADIUS, x = c + j - RADIUS;
            if (y >= 0 && y < rows && x >= 0 && x < cols)
                sum = fmaf(MASK[WINDOW * i + j], image[(size_t)y * cols + x], sum);
        }
    out[(size_t)r * cols + c] = sum;
}
