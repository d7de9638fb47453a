// expect: sim=technique
// Right, but a thread's 8 columns are neighbours: its lane's float4 lie 32 bytes apart, and 8 lanes meet in 16 banks.

// sgemm_v6: C = A · B in fp32. Everything moves in float4, 16 bytes at once: from global memory, from shared memory,
// and back. The tile of A is transposed on its way into shared memory, so that a thread's factors are neighbours there.
//
// All matrices are row-major; n and k are multiples of 4, so that each float4 of a row is there or not as a whole.

#define BM 128  // rows of the block's tile of C
#define BN 128  // columns of it
#define BK 8    // columns of the tile of A, rows of the tile of B
#define TM 8    // a thread computes TM × TN elements of C
#define TN 8

#define ACROSS (BN / TN)  // threads side by side
#define DOWN (BM / TM)    // and one below the other
#define THREADS (ACROSS * DOWN)

// A row of the transposed tile of A has 4 words more than it needs. So rows 4 apart begin 16 banks apart, and what a
// warp stores into two of them goes to 32 different banks.
#define PAD 4

static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 4 == 0, "everything is moved in float4");
static_assert(BM * BK % (4 * THREADS) == 0, "each thread brings the same number of float4 of A");
static_assert(BK * BN % (4 * THREADS) == 0, "each thread brings the same number of float4 of B");

// launch sgemm_v6(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=THREADS

// The four floats from `first` on, as one access. Its address must be a multiple of 16 bytes.
__device__ float4& quad(float& first)
{
    return reinterpret_cast<float4&>(first);
}

__device__ const float4& quad(const float& first)
{
    return reinterpret_cast<const float4&>(first);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    sgemm_v6(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ __align__(16) float a[BK][BM + PAD];  // transposed: a[l][row]
    __shared__ __align__(16) float b[BK][BN];

    int t = threadIdx.x;
    int row0 = blockIdx.y * BM;
    int col0 = blockIdx.x * BN;

    int tx = t % ACROSS * TN;
    int ty = t / ACROSS * TM;

    float sum[TM][TN] = {};
    float fa[TM], fb[TN];

    for (int l0 = 0; l0 < k; l0 += BK) {
        // A float4 of A is four elements of one row, and becomes one word in each of four rows.
        for (int e = 0; e < BM * BK; e += 4 * THREADS) {
            int r = (e + 4 * t) / BK, c = (e + 4 * t) % BK;
            float4 q = row0 + r < m && l0 + c < k ? quad(A[(size_t)(row0 + r) * k + l0 + c]) : float4{};
            a[c + 0][r] = q.x;
            a[c + 1][r] = q.y;
            a[c + 2][r] = q.z;
            a[c + 3][r] = q.w;
        }
        for (int e = 0; e < BK * BN; e += 4 * THREADS) {
            int r = (e + 4 * t) / BN, c = (e + 4 * t) % BN;
            quad(b[r][c]) = l0 + r < k && col0 + c < n ? quad(B[(size_t)(l0 + r) * n + col0 + c]) : float4{};
        }

        // Barrier: from here on threads read what others have stored.
        __syncthreads();

#pragma unroll
        for (int l = 0; l < BK; ++l) {
            // (TM + TN) / 4 loads for TM · TN multiplications.
            for (int i = 0; i < TM; i += 4)
                quad(fa[i]) = quad(a[l][ty + i]);
            for (int j = 0; j < TN; j += 4)
                quad(fb[j]) = quad(b[l][tx + j]);
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += fa[i] * fb[j];
        }

        // Barrier: the next round overwrites tiles that others may still be reading.
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; j += 4) {
            int row = row0 + ty + i, col = col0 + tx + j;
            if (row < m && col < n)
                quad(C[(size_t)row * n + col]) = quad(sum[i][j]);
        }
}
