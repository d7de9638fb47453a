// gray_2d: the brightness of each pixel of an image whose rows begin `pitch` bytes apart.
//
// A pixel is 4 bytes: red, green, blue, and alpha, which does not count. A row of rgba has width pixels, and then bytes
// that belong to no pixel. The rows of gray follow each other without a gap.

constexpr int ROWS = 4;  // of a thread: the same column in four rows, which are 8 rows apart

// launch gray_2d(rgba, gray, width, height, 4 * width + pad): grid=(cdiv(width, 32), cdiv(height, 8 * ROWS)) block=(32, 8)

extern "C" __global__ void gray_2d(const unsigned char* rgba, float* gray, int width, int height, int pitch)
{
    // x is the fast axis: the 32 lanes of a warp have 32 neighbouring pixels of one row.
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int first = blockIdx.y * blockDim.y * ROWS + threadIdx.y;

    // First all loads, and only then what has to wait for them: so four are in flight in place of one.
    uchar4 pixels[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        int y = first + i * blockDim.y;

        // Blocks stick out to the right and at the bottom.
        if (x >= width || y >= height)
            continue;

        // The pitch counts bytes, so it is added to a pointer to bytes. size_t, because y * pitch may pass 2^31.
        const unsigned char* row = rgba + (size_t)y * pitch;

        // Only then pixels are counted: one load of 4 bytes. The pitch is a multiple of 4, so each pixel is aligned.
        pixels[i] = reinterpret_cast<const uchar4*>(row)[x];
    }

#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        int y = first + i * blockDim.y;
        if (x >= width || y >= height)
            continue;

        // The bytes become ints, so the sum, at most 255 * 256, does not overflow. A division by 256.0f rounds nothing here.
        uchar4 p = pixels[i];
        gray[(size_t)y * width + x] = (77 * p.x + 150 * p.y + 29 * p.z) / 256.0f;
    }
}
