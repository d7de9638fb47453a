// expect: technique
// Each row's threads begin up to 7 elements earlier, at a sector: no byte is moved in vain, but only 4 for each lane.

// launch remove_drift(x, out, slope, cols): grid=rows block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.x * cols;
    for (int first = -(start % 8); first < cols; first += blockDim.x) {
        int c = first + threadIdx.x;
        if (0 <= c && c < cols)
            out[start + c] = x[start + c] - slope * c;
    }
}
