// expect: sim=out_of_bounds
// The blocks at the edges stick out, and nothing stops their surplus threads.

// launch transpose_v1(x, out, rows, cols): grid=(cdiv(rows, 32), cdiv(cols, 8)) block=(32, 8)

extern "C" __global__ void transpose_v1(const float* x, float* out, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    int c = blockIdx.y * blockDim.y + threadIdx.y;
    out[c * rows + r] = x[r * cols + c];
}
