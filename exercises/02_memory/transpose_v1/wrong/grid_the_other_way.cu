// expect: wrong
// The grid's first direction counts columns, the kernel's counts rows: a part of out is never written.

// launch transpose_v1(x, out, rows, cols): grid=(cdiv(cols, 32), cdiv(rows, 8)) block=(32, 8)

extern "C" __global__ void transpose_v1(const float* x, float* out, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    int c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols)
        out[c * rows + r] = x[r * cols + c];
}
