// expect: sim=pass gpu=slow
// Aligned, but a block for every 256 elements: it begins, moves one float for each thread, and ends.

// launch remove_drift(x, out, slope, cols): grid=(cdiv(cols + 7, 256), rows) block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.y * cols;
    int c = blockIdx.x * blockDim.x + threadIdx.x - start % 8;
    if (0 <= c && c < cols)
        out[start + c] = x[start + c] - slope * c;
}
