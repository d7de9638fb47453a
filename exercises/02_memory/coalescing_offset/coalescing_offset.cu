// coalescing_offset: takes a ramp off every row: out[r][c] = x[r][c] - slope * c.
//
// Rows have cols floats and lie in memory one right after the other, in x and in out alike. cols is rarely a multiple
// of 8, so most rows begin in the middle of a sector. A row is a head, a body of packs (float4), and a tail.

// launch remove_drift(x, out, slope, cols): grid=(cdiv(cols, 4*256), rows) block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    // Where this block's row begins, counted from the start of the array.
    int start = blockIdx.y * cols;
    const float* in = x + start;
    float* to = out + start;

    // YOUR CODE: head, how many floats of the row come before its first whole sector. Rows may be shorter than that.

    // YOUR CODE: packs, how many whole float4 come after the head: none if x and out cannot both be moved in packs.

    // YOUR CODE: p, this thread's place among the row's threads. If there is a pack p, take the ramp off its floats.

    // YOUR CODE: what is in no pack, float by float: head and tail, and of some slices the whole row.
}
