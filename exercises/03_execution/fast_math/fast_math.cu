// fast_math: the picture of m stars, rows × cols pixels. A star at (x[j], y[j]) adds light[j] / (1 + sharp · r²) to a
// pixel at distance r; the film turns the sum into 1 - exp(-sum). Pixel (row, col) lies at (col · pitch, row · pitch).
//
// Results may be wrong by 2e-5: that is enough for the fast instructions, and no reason for double precision.

// launch fast_math(x, y, light, out, rows, cols, m, pitch, sharp): grid=(cdiv(cols, 32), cdiv(rows, 8*OWN)) block=(32, 8)

// Pixels of a thread, 8 rows apart. They share a star's three loads and the horizontal distance.
#define OWN 8

extern "C" __global__ void fast_math(const float* x, const float* y, const float* light, float* out, int rows, int cols,
                                     int m, float pitch, float sharp)
{
    // Two dimensions of the grid: no i / cols and no i % cols.
    int col = blockIdx.x * 32 + threadIdx.x;
    int row = blockIdx.y * 8 * OWN + threadIdx.y;
    float px = col * pitch;
    float sum[OWN] = {};

    for (int j = 0; j < m; ++j) {
        // YOUR CODE: what star j adds to the pixels of this thread.
    }

    // YOUR CODE: what the film makes of the sums, for pixels inside of the picture.
}
