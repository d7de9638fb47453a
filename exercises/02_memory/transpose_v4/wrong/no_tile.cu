// expect: sim=technique gpu=slow
// No tile, so no conflict, and 8 elements for each thread: but now the loads are strided, as in transpose_v1.

// launch transpose_v4(x, out, rows, cols): grid=(cdiv(rows, 64), cdiv(cols, 64)) block=(64, 8)

extern "C" __global__ void transpose_v4(const float* x, float* out, int rows, int cols)
{
    int r = blockIdx.x * 64 + threadIdx.x;
    int c = blockIdx.y * 64 + threadIdx.y;
#pragma unroll
    for (int k = 0; k < 64; k += 8)
        if (r < rows && c + k < cols)
            out[(c + k) * rows + r] = x[r * cols + c + k];
}
