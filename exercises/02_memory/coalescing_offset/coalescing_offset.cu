// coalescing_offset: takes a ramp off every row: out[r][c] = x[r][c] - slope * c.
//
// Rows have cols floats and lie in memory one right behind the other, in x and in out alike. cols is rarely a multiple
// of 8, so most rows begin in the middle of a sector. The grid has 7 threads more for each row than it has elements.

// launch remove_drift(x, out, slope, cols): grid=(cdiv(cols + 7, 256), rows) block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    // YOUR CODE: start, where this block's row begins, counted in floats from the begin of the array.

    // YOUR CODE: c, this thread's column. With which column must a warp begin, so that it begins at a sector?

    // YOUR CODE: take the ramp off element c, if the row has one.
}
