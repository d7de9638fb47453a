// expect: sim=technique gpu=slow
// A row for each thread: lanes read far from each other, and one thread has the longest row.

// launch spmv_csr(offsets, columns, values, x, y, rows): grid=cdiv(rows, 256) block=256

extern "C" __global__ void spmv_csr(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                                    int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int k = offsets[row]; k < offsets[row + 1]; ++k)
        sum += values[k] * x[columns[k]];
    y[row] = sum;
}
