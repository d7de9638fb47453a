// expect: sim=technique gpu=slow
// sgemm_v2 as it was: each factor is loaded from global memory for each multiplication.

// launch sgemm_v3(A, B, C, m, n, k): grid=(cdiv(n, 32), cdiv(m, 8)) block=(32, 8)

extern "C" __global__ void sgemm_v3(const float* A, const float* B, float* C, int m, int n, int k)
{
    // The 32 lanes of a warp differ in x alone. x must be the column: then they load 32 neighbours of one row of B, and
    // all of them the same element of A.
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;

    // The blocks at the edges stick out of C: a thread without an element has nothing to do.
    if (row >= m || col >= n)
        return;

    // Row `row` of A times column `col` of B. The sum stays in a register until it is complete.
    float sum = 0.0f;
    for (int l = 0; l < k; ++l)
        sum += A[row * k + l] * B[l * n + col];

    C[row * n + col] = sum;
}
