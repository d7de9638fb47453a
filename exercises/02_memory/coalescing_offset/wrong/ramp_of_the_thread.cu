// expect: wrong
// The ramp is counted in threads, not in columns: it is up to 7 steps ahead.

// launch remove_drift(x, out, slope, cols): grid=(cdiv(cols + 7, 256), rows) block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.y * cols;
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int c = thread - start % 8;
    if (0 <= c && c < cols)
        out[start + c] = x[start + c] - slope * thread;
}
