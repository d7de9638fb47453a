// expect: sim=technique
// Tiles of 4 columns: each row of a tile is 16 bytes, half of a sector.

// launch transpose_v2(x, out, rows, cols): grid=(cdiv(cols, 4), cdiv(rows, 32)) block=(4, 32)

extern "C" __global__ void transpose_v2(const float* x, float* out, int rows, int cols)
{
    __shared__ float tile[32][4];
    int c = blockIdx.x * 4 + threadIdx.x;
    int r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = x[r * cols + c];
    __syncthreads();
    int t = threadIdx.y * 4 + threadIdx.x;
    c = blockIdx.x * 4 + t / 32;
    r = blockIdx.y * 32 + t % 32;
    if (r < rows && c < cols)
        out[c * rows + r] = tile[t % 32][t / 32];
}
