// expect: technique
// It aligns to 16 bytes, as a float4 asks for: half of the rows still begin in the middle of a sector.

// launch remove_drift(x, out, slope, cols): grid=(cdiv(cols + 7, 256), rows) block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.y * cols;
    int c = blockIdx.x * blockDim.x + threadIdx.x - start % 4;
    if (0 <= c && c < cols)
        out[start + c] = x[start + c] - slope * c;
}
