// expect: wrong
// The block has moved to the left, and its rounds are counted as before: the last elements are left out.

// launch remove_drift(x, out, slope, cols): grid=rows block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.x * cols;
    int shift = start % 8;
    int rounds = (cols + blockDim.x - 1) / blockDim.x;
    for (int k = 0; k < rounds; ++k) {
        int c = k * blockDim.x + threadIdx.x - shift;
        if (0 <= c && c < cols)
            out[start + c] = x[start + c] - slope * c;
    }
}
