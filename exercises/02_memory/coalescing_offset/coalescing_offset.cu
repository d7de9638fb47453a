// coalescing_offset: takes a ramp off every row: out[r][c] = x[r][c] - slope * c.
//
// Rows have cols floats and lie in memory one right after the other, in x and in out alike. cols is rarely a multiple
// of 8, so most rows begin in the middle of a sector. A block takes a row, blockDim.x elements in each round.

// launch remove_drift(x, out, slope, cols): grid=rows block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    // YOUR CODE: start, where this block's row begins, counted in floats from the start of the array.

    // YOUR CODE: the rounds, blockDim.x columns each. Where does the first begin, so that warps begin at a sector?

    // YOUR CODE: in each round, c is this thread's column. Take the ramp off element c, if the row has one.
}
