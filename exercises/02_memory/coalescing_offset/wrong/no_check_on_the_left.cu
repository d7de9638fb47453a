// expect: sim=race
// The threads before the row are not stopped: they write the last elements of the row above, too.

// launch remove_drift(x, out, slope, cols): grid=(cdiv(cols + 7, 256), rows) block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.y * cols;
    int c = blockIdx.x * blockDim.x + threadIdx.x - start % 8;
    if (c < cols)
        out[start + c] = x[start + c] - slope * c;
}
