// expect: wrong
// The threads have moved to the left, and the grid ends where it ended before: the last elements are left out.

// launch remove_drift(x, out, slope, cols): grid=(cdiv(cols, 256), rows) block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.y * cols;
    int c = blockIdx.x * blockDim.x + threadIdx.x - start % 8;
    if (0 <= c && c < cols)
        out[start + c] = x[start + c] - slope * c;
}
