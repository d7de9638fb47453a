// expect: sim=race gpu=wrong
// The store is guarded by the check of the load, but belongs to another element: at the edges it hits a neighbour's.

#define TILE 16

// launch transpose_v2(x, out, rows, cols): grid=(cdiv(cols, TILE), cdiv(rows, TILE)) block=(TILE, TILE)

extern "C" __global__ void transpose_v2(const float* x, float* out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE];
    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
    bool inside = r < rows && c < cols;
    if (inside)
        tile[threadIdx.y][threadIdx.x] = x[r * cols + c];
    __syncthreads();
    c = blockIdx.x * TILE + threadIdx.y;
    r = blockIdx.y * TILE + threadIdx.x;
    if (inside)
        out[c * rows + r] = tile[threadIdx.x][threadIdx.y];
}
