// expect: sim=race
// The threads before the row are not stopped: they write the last elements of the row above, too.

// launch remove_drift(x, out, slope, cols): grid=rows block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.x * cols;
    for (int first = -(start % 8); first < cols; first += blockDim.x) {
        int c = first + threadIdx.x;
        if (c < cols)
            out[start + c] = x[start + c] - slope * c;
    }
}
