// expect: wrong
// The ramp is counted from the first thread, not from the first column: it is up to 7 steps ahead.

// launch remove_drift(x, out, slope, cols): grid=rows block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.x * cols;
    int shift = start % 8;
    for (int at = threadIdx.x; at < cols + shift; at += blockDim.x)
        if (at >= shift)
            out[start + at - shift] = x[start + at - shift] - slope * at;
}
