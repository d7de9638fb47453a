// gray_2d: the brightness of each pixel of an image whose rows begin `pitch` bytes apart.
//
// A pixel is 4 bytes: red, green, blue, and alpha, which does not count. A row of rgba has width pixels, and then bytes
// that belong to no pixel. The rows of gray follow each other without a gap.

// launch gray_2d(rgba, gray, width, height, 4 * width + pad): grid=(cdiv(width, 32), cdiv(height, 8)) block=(32, 8)

extern "C" __global__ void gray_2d(const unsigned char* rgba, float* gray, int width, int height, int pitch)
{
    // YOUR CODE: x and y, the column and the row of this thread's pixel. If there is no such pixel, return.

    // YOUR CODE: row, a pointer to the first byte of row y.

    // YOUR CODE: pixel x of this row, in one load; then its brightness, into row y, column x of gray.
}
