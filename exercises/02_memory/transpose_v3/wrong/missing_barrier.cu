// expect: sim=race
// A column of the tile is read before all warps have stored their rows.

#define TILE 64
#define STEP 8

// launch transpose_v3(x, out, rows, cols): grid=(cdiv(cols, TILE), cdiv(rows, TILE)) block=(TILE, STEP)

extern "C" __global__ void transpose_v3(const float* x, float* out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
    float held[TILE / STEP];
#pragma unroll
    for (int k = 0; k < TILE; k += STEP)
        held[k / STEP] = r + k < rows && c < cols ? x[(r + k) * cols + c] : 0.0f;
#pragma unroll
    for (int k = 0; k < TILE; k += STEP)
        tile[threadIdx.y + k][threadIdx.x] = held[k / STEP];
    c = blockIdx.x * TILE + threadIdx.y;
    r = blockIdx.y * TILE + threadIdx.x;
#pragma unroll
    for (int k = 0; k < TILE; k += STEP)
        if (r < rows && c + k < cols)
            out[(c + k) * rows + r] = tile[threadIdx.x][threadIdx.y + k];
}
