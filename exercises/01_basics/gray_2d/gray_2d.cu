// gray_2d: the brightness of each pixel of an image whose rows begin `pitch` bytes apart.
//
// A pixel is 4 bytes: red, green, blue, and alpha, which does not count. A row of rgba has width pixels, and then bytes
// that belong to no pixel. The rows of gray follow each other without a gap.

constexpr int ROWS = 4;  // of a thread: the same column in four rows, which are 8 rows apart

// launch gray_2d(rgba, gray, width, height, 4 * width + pad): grid=(cdiv(width, 32), cdiv(height, 8 * ROWS)) block=(32, 8)

extern "C" __global__ void gray_2d(const unsigned char* rgba, float* gray, int width, int height, int pitch)
{
    // YOUR CODE: x and first, the column of this thread's pixels and the row of its first one.

    // First all loads, and only then what has to wait for them: so four are in flight in place of one.
    uchar4 pixels[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        // YOUR CODE: y, the row of pixel i. If there is no such pixel, continue.

        // YOUR CODE: row, a pointer to the first byte of row y.

        // YOUR CODE: pixel x of this row, in one load, into pixels[i].
    }

#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        // YOUR CODE: the brightness of pixels[i], into row y, column x of gray.
    }
}
