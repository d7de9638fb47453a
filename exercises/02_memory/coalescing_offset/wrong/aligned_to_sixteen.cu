// expect: technique
// It aligns to 16 bytes, as a float4 asks for: half of the rows still begin in the middle of a sector.

// launch remove_drift(x, out, slope, cols): grid=rows block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.x * cols;
    for (int first = -(start % 4); first < cols; first += blockDim.x) {
        int c = first + threadIdx.x;
        if (0 <= c && c < cols)
            out[start + c] = x[start + c] - slope * c;
    }
}
