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
        // Each thread brings one element of both tiles: rows of A times columns l0 … l0 + TILE - 1, and these rows of
        // B times columns of C. Past an edge the tile is 0: such terms add nothing to a sum. A thread without an
        // element of C has to bring its share as well, so nobody may have left before.
        a[ty][tx] = row < m && l0 + tx < k ? A[row * k + l0 + tx] : 0.0f;
        b[ty][tx] = l0 + ty < k && col < n ? B[(l0 + ty) * n + col] : 0.0f;

        // Barrier: from here on threads read what others have stored.
        __syncthreads();

        // Lanes read one word of a, all of them, and 32 neighbouring words of b: no bank conflict.
        for (int l = 0; l < TILE; ++l)
            sum += a[ty][l] * b[l][tx];

        // Barrier: the next round overwrites tiles that others may still be reading.
        __syncthreads();
    }

    if (row < m && col < n)
        C[row * n + col] = sum;
}
