// expect: sim=pass gpu=slow
// One thread moves a whole row: 8192 threads are far too few, and each waits for one element after the other.

// launch transpose_v1(x, out, rows, cols): grid=cdiv(rows, 256) block=256

extern "C" __global__ void transpose_v1(const float* x, float* out, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows)
        for (int c = 0; c < cols; ++c)
            out[c * rows + r] = x[r * cols + c];
}
