// expect: sim=technique gpu=slow
// Right, but elements come and go one at a time, as in sgemm_v5.

// sgemm_v6: C = A · B in fp32. Each thread computes TM × TN elements of C: a factor that it has loaded from shared
// memory is used TM or TN times from a register.
//
// All matrices are row-major: element (r, c) of a matrix with w columns lies at r * w + c.

#define BM 128  // rows of the block's tile of C
#define BN 128  // columns of it
#define BK 8    // columns of the tile of A, rows of the tile of B
#define TM 8    // a thread computes TM × TN elements of C
#define TN 8

#define ACROSS (BN / TN)  // threads side by side
#define DOWN (BM / TM)    // and one below the other
#define THREADS (ACROSS * DOWN)

static_assert(BM % TM == 0 && BN % TN == 0, "the tile's rows and columns are divided among threads");
static_assert(BM * BK % THREADS == 0, "each thread brings the same number of elements of A");
static_assert(BK * BN % THREADS == 0, "each thread brings the same number of elements of B");

// launch sgemm_v6(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=THREADS

extern "C" __global__ void __launch_bounds__(THREADS)
    sgemm_v6(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[BM][BK], b[BK][BN];

    int t = threadIdx.x;
    int row0 = blockIdx.y * BM;
    int col0 = blockIdx.x * BN;

    // This thread's elements: rows ty, ty + DOWN, ty + 2·DOWN, … and columns tx, tx + ACROSS, … of the tile. With gaps,
    // since then neighbouring lanes have neighbouring columns: no bank conflicts here, and whole sectors of C.
    int tx = t % ACROSS;
    int ty = t / ACROSS;

    // All of this stays in registers, as TM and TN are constants and the loops over i and j are unrolled.
    float sum[TM][TN] = {};
    float fa[TM], fb[TN];  // the factors of one step

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
            // TM + TN loads for TM · TN multiplications.
            for (int i = 0; i < TM; ++i)
                fa[i] = a[ty + i * DOWN][l];
            for (int j = 0; j < TN; ++j)
                fb[j] = b[l][tx + j * ACROSS];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += fa[i] * fb[j];
        }

        // Barrier: the next round overwrites tiles that others may still be reading.
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) {
            int row = row0 + ty + i * DOWN, col = col0 + tx + j * ACROSS;
            if (row < m && col < n)
                C[row * n + col] = sum[i][j];
        }
}
