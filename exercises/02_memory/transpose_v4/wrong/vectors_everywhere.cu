// expect: crash
// Loads of four floats, whatever the number of columns: only where it is a multiple of 4 are rows aligned.

// launch transpose_v4(x, out, rows, cols): grid=(cdiv(cols, 64), cdiv(rows, 64)) block=256

extern "C" __global__ void transpose_v4(const float* x, float* out, int rows, int cols)
{
    __shared__ float tile[64][65];
    int t = threadIdx.x;
    int c = blockIdx.x * 64 + t % 16 * 4;
    for (int k = t / 16; k < 64; k += 16) {
        int r = blockIdx.y * 64 + k;
        if (r < rows && c + 3 < cols) {
            float4 four = *reinterpret_cast<const float4*>(x + r * cols + c);
            tile[k][t % 16 * 4] = four.x;
            tile[k][t % 16 * 4 + 1] = four.y;
            tile[k][t % 16 * 4 + 2] = four.z;
            tile[k][t % 16 * 4 + 3] = four.w;
        } else if (r < rows) {
            for (int i = 0; i < 4; ++i)
                if (c + i < cols)
                    tile[k][t % 16 * 4 + i] = x[r * cols + c + i];
        }
    }
    __syncthreads();
    int r = blockIdx.y * 64 + t % 64;
    for (int k = t / 64; k < 64; k += 4)
        if (r < rows && blockIdx.x * 64 + k < cols)
            out[(blockIdx.x * 64 + k) * rows + r] = tile[t % 64][k];
}
