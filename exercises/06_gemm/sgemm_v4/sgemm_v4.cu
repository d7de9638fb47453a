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
        // YOUR CODE: the block brings BM × BK elements of A and BK × BN of B; past an edge the tile is 0.

        // Barrier: from here on threads read what others have stored.
        __syncthreads();

        // YOUR CODE: for each l, one element of b into a register, and TM products with it.

        // Barrier: the next round overwrites tiles that others may still be reading.
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i) {
        int row = row0 + ty + i, col = col0 + tx;
        if (row < m && col < n)
            C[row * n + col] = sum[i];
    }
}
