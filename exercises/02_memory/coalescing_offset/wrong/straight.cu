// expect: technique
// Float by float, and thread 0 has the row's first element, wherever it lies: 5 sectors a request in 7 of 8 rows.

// launch remove_drift(x, out, slope, cols): grid=rows block=256

extern "C" __global__ void remove_drift(const float* x, float* out, float slope, int cols)
{
    int start = blockIdx.x * cols;
    for (int first = 0; first < cols; first += blockDim.x) {
        int c = first + threadIdx.x;
        if (c < cols)
            out[start + c] = x[start + c] - slope * c;
    }
}
