// expect: sim=pass gpu=slow
// Aligned, but one warp for each row: half of the warps that an SM can hold, with one load under way in each.

// launch remove_drift(x, out, slope, cols): grid=rows block=32

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.x * cols;

    // first is the same in all lanes: so they stay together, however the loop is unrolled.
    for (int first = -(start % 8); first < cols; first += 32) {
        int c = first + (int)threadIdx.x;
        if (0 <= c && c < cols)
            out[start + c] = x[start + c] - slope * c;
    }
}
