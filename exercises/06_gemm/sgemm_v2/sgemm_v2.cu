// sgemm_v2: C = A · B in fp32, one thread for each element of C; the lanes of a warp lie along a row of C.
//
// All matrices are row-major: element (r, c) of a matrix with w columns lies at r * w + c.

// launch sgemm_v2(A, B, C, m, n, k): grid=(cdiv(n, 32), cdiv(m, 8)) block=(32, 8)

extern "C" __global__ void sgemm_v2(const float* A, const float* B, float* C, int m, int n, int k)
{
    // YOUR CODE: the row and the column of this thread's element. Which of them may differ between the lanes of a warp?

    // YOUR CODE: the check and the sum, as in sgemm_v1.
}
