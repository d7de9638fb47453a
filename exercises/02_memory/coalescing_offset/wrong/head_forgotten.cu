// expect: wrong
// It begins at the first whole sector of the row, and nobody does the elements before it.

// launch remove_drift(x, out, slope, cols): grid=rows block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.x * cols;
    for (int first = (8 - start % 8) % 8; first < cols; first += blockDim.x) {
        int c = first + threadIdx.x;
        if (c < cols)
            out[start + c] = x[start + c] - slope * c;
    }
}
