// expect: wrong
// The tiles change places, but inside a tile nothing does: it is read as it was written.

#define TILE 16

// launch transpose_v2(x, out, rows, cols): grid=(cdiv(cols, TILE), cdiv(rows, TILE)) block=(TILE, TILE)

extern "C" __global__ void transpose_v2(const float* x, float* out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE];
    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = x[r * cols + c];
    __syncthreads();
    c = blockIdx.x * TILE + threadIdx.y;
    r = blockIdx.y * TILE + threadIdx.x;
    if (r < rows && c < cols)
        out[c * rows + r] = tile[threadIdx.y][threadIdx.x];
}
