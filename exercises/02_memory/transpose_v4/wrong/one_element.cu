// expect: sim=technique gpu=slow
// The padding alone: no conflict, but a thread for each element of the tile of 32 x 33, with one load each.

// launch transpose_v4(x, out, rows, cols): grid=(cdiv(cols, 32), cdiv(rows, 32)) block=(32, 32)

extern "C" __global__ void transpose_v4(const float* x, float* out, int rows, int cols)
{
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x;
    int r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = x[r * cols + c];
    __syncthreads();
    c = blockIdx.x * 32 + threadIdx.y;
    r = blockIdx.y * 32 + threadIdx.x;
    if (r < rows && c < cols)
        out[c * rows + r] = tile[threadIdx.x][threadIdx.y];
}
