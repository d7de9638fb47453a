// expect: sim=pass gpu=slow
// Aligned, but one warp for each row: half of the warps that an SM can hold, with one load under way in each.

// launch remove_drift(x, out, slope, cols): grid=rows block=32

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.x * cols;
    for (int first = -(start % 8); first < cols; first += blockDim.x) {
        int c = first + threadIdx.x;
        if (0 <= c && c < cols)
            out[start + c] = x[start + c] - slope * c;
    }
}
