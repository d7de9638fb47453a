// expect: sim=out_of_bounds
// The rows of out are taken to be as long as those of x: right for squares only.

// launch transpose_v1(x, out, rows, cols): grid=(cdiv(rows, 32), cdiv(cols, 8)) block=(32, 8)

extern "C" __global__ void transpose_v1(const float* x, float* out, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    int c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols)
        out[c * cols + r] = x[r * cols + c];
}
