// sgemm_v1: C = A · B in fp32, the naive way: one thread for each element of C.
//
// All matrices are row-major: element (r, c) of a matrix with w columns lies at r * w + c.

// launch sgemm_v1(A, B, C, m, n, k): grid=(cdiv(m, 32), cdiv(n, 8)) block=(32, 8)

extern "C" __global__ void sgemm_v1(const float* A, const float* B, float* C, int m, int n, int k)
{
    // YOUR CODE: the row and the column of this thread's element of C. Is there such an element?

    // YOUR CODE: that row of A times that column of B, added up in a register, and then stored into C.
}
