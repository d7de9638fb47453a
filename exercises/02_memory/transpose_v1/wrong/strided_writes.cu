// expect: sim=pass gpu=slow
// The other side is strided: 32 sectors for each store go to the L2 with 4 bytes each, and no L1 collects them.

// launch transpose_v1(x, out, rows, cols): grid=(cdiv(cols, 32), cdiv(rows, 8)) block=(32, 8)

extern "C" __global__ void transpose_v1(const float* x, float* out, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols)
        out[c * rows + r] = x[r * cols + c];
}
