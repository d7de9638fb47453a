// coalescing_offset: takes a ramp off every row: out[r][c] = x[r][c] - slope * c.
//
// Rows have cols floats and lie in memory one right behind the other, in x and in out alike. cols is rarely a multiple
// of 8, so most rows begin in the middle of a sector. The grid has 7 threads more for each row than it has elements.

// launch remove_drift(x, out, slope, cols): grid=(cdiv(cols + 7, 256), rows) block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    // Where this block's row begins, counted from the begin of the array.
    int start = blockIdx.y * cols;

    // The row begins start % 8 floats behind the begin of a sector. Its threads begin as many elements earlier, and
    // then element start + c of every warp's first lane is divisible by 8, because 32 and 256 are.
    int c = blockIdx.x * blockDim.x + threadIdx.x - start % 8;

    // On the left up to 7 threads stand before the row: these elements belong to the row above. On the right the last
    // block sticks out.
    if (0 <= c && c < cols)
        out[start + c] = x[start + c] - slope * c;
}
