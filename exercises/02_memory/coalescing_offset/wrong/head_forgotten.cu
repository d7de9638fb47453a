// expect: wrong
// It begins at the first whole sector of the row, and nobody does the elements before it.

// launch remove_drift(x, out, slope, cols): grid=(cdiv(cols + 7, 256), rows) block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.y * cols;
    int c = blockIdx.x * blockDim.x + threadIdx.x + (8 - start % 8) % 8;
    if (c < cols)
        out[start + c] = x[start + c] - slope * c;
}
