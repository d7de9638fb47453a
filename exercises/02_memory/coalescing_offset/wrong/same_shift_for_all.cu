// expect: technique
// The shift is computed from cols, not from the row's start: it is right for the second row and every eighth after it.

// launch remove_drift(x, out, slope, cols): grid=rows block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.x * cols;
    for (int first = -(cols % 8); first < cols; first += blockDim.x) {
        int c = first + threadIdx.x;
        if (0 <= c && c < cols)
            out[start + c] = x[start + c] - slope * c;
    }
}
