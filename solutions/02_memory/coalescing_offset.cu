// coalescing_offset: takes a ramp off every row: out[r][c] = x[r][c] - slope * c.
//
// Rows have cols floats and lie in memory one right after the other, in x and in out alike. cols is rarely a multiple
// of 8, so most rows begin in the middle of a sector. A block takes a row, blockDim.x elements in each round.

// launch remove_drift(x, out, slope, cols): grid=rows block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    // Where this block's row begins, counted from the start of the array.
    int start = blockIdx.x * cols;

    // The row begins start % 8 floats after the start of a sector. Its block begins as many elements earlier, and then
    // element start + c of every warp's first lane is divisible by 8, because 32 and blockDim.x are. first is the same
    // in all lanes, so all of them make the same number of rounds and stay together, however the loop is unrolled.
    for (int first = -(start % 8); first < cols; first += blockDim.x) {
        int c = first + threadIdx.x;

        // In the first round up to 7 threads stand before the row: these elements belong to the row above. In the last
        // round the block sticks out on the right.
        if (0 <= c && c < cols)
            out[start + c] = x[start + c] - slope * c;
    }
}
