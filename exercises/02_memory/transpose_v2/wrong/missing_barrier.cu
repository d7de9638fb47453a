// expect: sim=race
// A thread takes an element from the tile that another warp may not have brought yet.

#define TILE 16

// launch transpose_v2(x, out, rows, cols): grid=(cdiv(cols, TILE), cdiv(rows, TILE)) block=(TILE, TILE)

extern "C" __global__ void transpose_v2(const float* x, float* out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE];
    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = x[r * cols + c];
    c = blockIdx.x * TILE + threadIdx.y;
    r = blockIdx.y * TILE + threadIdx.x;
    if (r < rows && c < cols)
        out[c * rows + r] = tile[threadIdx.x][threadIdx.y];
}
