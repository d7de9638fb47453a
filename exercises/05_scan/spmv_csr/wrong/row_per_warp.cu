// expect: technique
// A row for each warp: most rows are shorter, and most lanes have nothing to do.

// launch spmv_csr(offsets, columns, values, x, y, rows): grid=cdiv(rows, 8) block=256

extern "C" __global__ void spmv_csr(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                                    int rows)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int k = offsets[row] + lane; k < offsets[row + 1]; k += 32)
        sum += values[k] * x[columns[k]];
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_xor_sync(~0u, sum, s);
    if (lane == 0)
        y[row] = sum;
}
