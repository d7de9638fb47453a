// expect: sim=out_of_bounds
// The slices are rounded up, and nobody cuts off the last ones at k.

#define SLICES 64

// scratch partial: float[SLICES * m * n]
// launch splitk_gemm(A, B, partial, m, n, k): grid=(cdiv(n, 16), cdiv(m, 16), SLICES) block=(16, 16)
// launch add_slices(partial, C, m * n): grid=cdiv(m * n, 256) block=256

extern "C" __global__ void splitk_gemm(const float* A, const float* B, float* partial, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y;
    int col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n)
        return;
    int length = (k + SLICES - 1) / SLICES;
    int first = blockIdx.z * length;
    int last = first + length;
    float sum = 0.0f;
    for (int l = first; l < last; ++l)
        sum += A[(size_t)row * k + l] * B[(size_t)l * n + col];
    partial[((size_t)blockIdx.z * m + row) * n + col] = sum;
}

extern "C" __global__ void add_slices(const float* partial, float* C, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float sum = 0.0f;
    for (int s = 0; s < SLICES; ++s)
        sum += partial[(size_t)s * count + i];
    C[i] = sum;
}
