// sgemm_v4: C = A · B in fp32. A block computes a tile of C through shared memory, and each thread TM elements of one
// column of that tile: an element of B is loaded once from shared memory and used TM times from a register.
//
// All matrices are row-major: element (r, c) of a matrix with w columns lies at r * w + c.

#define BM 64  // rows of the block's tile of C
#define BN 64  // columns of it
#define BK 8   // columns of the tile of A, rows of the tile of B
#define TM 8   // elements of C that a thread computes, one below the other

#define THREADS (BM / TM * BN)

static_assert(BN % 32 == 0, "the lanes of a warp lie along one row of the tile");
static_assert(BM % TM == 0, "the tile's rows are divided among threads");
static_assert(BM * BK % THREADS == 0, "each thread brings the same number of elements of A");
static_assert(BK * BN % THREADS == 0, "each thread brings the same number of elements of B");

// launch sgemm_v4(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=THREADS

extern "C" __global__ void __launch_bounds__(THREADS)
    sgemm_v4(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[BM][BK], b[BK][BN];

    int t = threadIdx.x;
    int row0 = blockIdx.y * BM;
    int col0 = blockIdx.x * BN;

    // This thread's elements of the tile: column tx, rows ty … ty + TM - 1. A warp has 32 columns and the same rows.
    int tx = t % BN;
    int ty = t / BN * TM;

    // In registers, as TM is a constant and the loops over i are unrolled.
    float sum[TM] = {};

    for (int l0 = 0; l0 < k; l0 += BK) {
        // The block brings BM × BK elements of A and BK × BN of B. Past an edge the tile is 0.
        for (int e = 0; e < BM * BK; e += THREADS) {
            int r = (e + t) / BK, c = (e + t) % BK;
            a[r][c] = row0 + r < m && l0 + c < k ? A[(row0 + r) * k + l0 + c] : 0.0f;
        }
        for (int e = 0; e < BK * BN; e += THREADS) {
            int r = (e + t) / BN, c = (e + t) % BN;
            b[r][c] = l0 + r < k && col0 + c < n ? B[(l0 + r) * n + col0 + c] : 0.0f;
        }

        // Barrier: from here on threads read what others have stored.
        __syncthreads();

#pragma unroll
        for (int l = 0; l < BK; ++l) {
            // One element of b for TM multiplications. The lanes read 32 neighbours of it, and one word of a together.
            float factor = b[l][tx];
            for (int i = 0; i < TM; ++i)
                sum[i] += a[ty + i][l] * factor;
        }

        // Barrier: the next round overwrites tiles that others may still be reading.
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i) {
        int row = row0 + ty + i, col = col0 + tx;
        if (row < m && col < n)
            C[row * n + col] = sum[i];
    }
}
