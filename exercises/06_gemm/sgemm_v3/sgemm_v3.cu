// sgemm_v3: C = A · B in fp32. A block computes a tile of C, and brings the tiles of A and B that it needs into shared
// memory, where each element is used TILE times.
//
// All matrices are row-major: element (r, c) of a matrix with w columns lies at r * w + c.

#define TILE 32  // rows and columns of each tile; a block has a thread for each element

// launch sgemm_v3(A, B, C, m, n, k): grid=(cdiv(n, TILE), cdiv(m, TILE)) block=(TILE, TILE)

extern "C" __global__ void sgemm_v3(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];

    // This thread's place in the tiles. Lanes lie along x, so x is the column in all three matrices.
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * TILE + tx;
    int row = blockIdx.y * TILE + ty;

    float sum = 0.0f;
    for (int l0 = 0; l0 < k; l0 += TILE) {
        // YOUR CODE: bring one element of each tile: columns l0 … of A, rows l0 … of B. What if there is none?

        // YOUR CODE: add TILE products, all from shared memory. Where does a barrier belong, and why?
    }

    if (row < m && col < n)
        C[row * n + col] = sum;
}
