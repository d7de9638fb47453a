// fast_math: the picture of m stars, rows × cols pixels. A star at (x[j], y[j]) adds light[j] / (1 + sharp · r²) to a
// pixel at distance r; the film turns the sum into 1 - exp(-sum). Pixel (row, col) lies at (col · pitch, row · pitch).
//
// Results may be wrong by 2e-5: that is enough for the fast instructions, and no reason for double precision.

// launch fast_math(x, y, light, out, rows, cols, m, pitch, sharp): grid=(cdiv(cols, 32), cdiv(rows, 8*OWN)) block=(32, 8)

// Pixels of a thread, 8 rows apart. They share a star's three loads and the horizontal distance.
#define OWN 8

// 1 / v for a v of at least 1, in one instruction. __fdividef has three more, for divisors below 2^-126.
__device__ float reciprocal(float v)
{
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
    return result;
}

extern "C" __global__ void fast_math(const float* x, const float* y, const float* light, float* out, int rows, int cols,
                                     int m, float pitch, float sharp)
{
    // Two dimensions of the grid: no i / cols and no i % cols.
    int col = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 8 * OWN + threadIdx.y;
    float px = col * pitch;
    float sum[OWN] = {};

    for (int j = 0; j < m; ++j) {
        float dx = px - x[j];
        float across = fmaf(dx * dx, sharp, 1.0f);  // 1.0 would be a double, and so would the whole expression
#pragma unroll
        for (int k = 0; k < OWN; ++k) {
            float dy = (row + 8 * k) * pitch - y[j];
            sum[k] = fmaf(light[j], reciprocal(fmaf(dy * dy, sharp, across)), sum[k]);
        }
    }

#pragma unroll
    for (int k = 0; k < OWN; ++k)
        if (col < cols && row + 8 * k < rows)
            out[(row + 8 * k) * cols + col] = 1.0f - __expf(-sum[k]);
}
