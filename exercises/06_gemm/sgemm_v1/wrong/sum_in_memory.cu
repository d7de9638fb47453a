// expect: sim=pass gpu=slow
// The sum lives in C: each term stores it again, with the lanes a whole row apart.

// launch sgemm_v1(A, B, C, m, n, k): grid=(cdiv(m, 32), cdiv(n, 8)) block=(32, 8)

extern "C" __global__ void sgemm_v1(const float* A, const float* B, float* C, int m, int n, int k)
{
    // This thread's element of C. x counts rows and y counts columns, as the letters of a matrix are written.
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;

    // The blocks at the edges stick out of C: a thread without an element has nothing to do.
    if (row >= m || col >= n)
        return;

    // Row `row` of A times column `col` of B. Every term goes to C and back.
    C[row * n + col] = 0.0f;
    for (int l = 0; l < k; ++l)
        C[row * n + col] += A[row * k + l] * B[l * n + col];
}
