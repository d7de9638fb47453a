// expect: wrong
// The factors are cut to the 8 bits of bfloat16: half of the bytes, and not the same numbers.

// launch sgemm_v2(A, B, C, m, n, k): grid=(cdiv(n, 32), cdiv(m, 8)) block=(32, 8)

// The upper 16 of 32 bits: sign, exponent, and 7 bits behind the point.
__device__ float bf16(float x) { return __uint_as_float(__float_as_uint(x) & 0xffff0000u); }

extern "C" __global__ void sgemm_v2(const float* A, const float* B, float* C, int m, int n, int k)
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
        sum += bf16(A[row * k + l]) * bf16(B[l * n + col]);

    C[row * n + col] = sum;
}
