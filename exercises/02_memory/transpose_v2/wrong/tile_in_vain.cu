// expect: sim=technique gpu=slow
// A tile in vain: each thread writes the element that it has read itself, and the stores are strided.

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
    if (r < rows && c < cols)
        out[c * rows + r] = tile[threadIdx.y][threadIdx.x];
}
