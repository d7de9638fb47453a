// expect: sim=technique gpu=slow
// sgemm_v1 as it was: the lanes of a warp lie in 32 rows of A, and in 32 sectors.

// launch sgemm_v2(A, B, C, m, n, k): grid=(cdiv(m, 32), cdiv(n, 8)) block=(32, 8)

extern "C" __global__ void sgemm_v2(const float* A, const float* B, float* C, int m, int n, int k)
{
    // This thread's element of C. x counts rows and y counts columns, as the letters of a matrix are written.
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;

    // The blocks at the edges stick out of C: a thread without an element has nothing to do.
    if (row >= m || col >= n)
        return;

    // Row `row` of A times column `col` of B. The sum stays in a register until it is complete.
    float sum = 0.0f;
    for (int l = 0; l < k; ++l)
        sum += A[row * k + l] * B[l * n + col];

    C[row * n + col] = sum;
}
