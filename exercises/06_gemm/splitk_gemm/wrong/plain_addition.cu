// expect: race
// Every slice adds its part to C, but not with an atomic: what others add in between is lost.

// zero C
// launch splitk_gemm(A, B, C, m, n, k): grid=(cdiv(n, 16), cdiv(m, 16), 64) block=(16, 16)

extern "C" __global__ void splitk_gemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y;
    int col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n)
        return;
    int first = (long long)k * blockIdx.z / gridDim.z;
    int last = (long long)k * (blockIdx.z + 1) / gridDim.z;
    float sum = 0.0f;
    for (int l = first; l < last; ++l)
        sum += A[(size_t)row * k + l] * B[(size_t)l * n + col];
    C[(size_t)row * n + col] += sum;
}
