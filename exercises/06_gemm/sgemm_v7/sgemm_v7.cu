// sgemm_v7: C = A · B in fp32. Each warp owns a compact tile of C, and its lanes are numbered in such a way that
// neighbours want the same float4 of A or of B: one wavefront of shared memory then serves twice as many of them.
//
// All matrices are row-major; n and k are multiples of 4, so that each float4 of a row is there or not as a whole.

#define BM 128  // rows of the block's tile of C
#define BN 128  // columns of it
#define BK 32   // columns of the tile of A, rows of the tile of B
#define TM 8    // a thread computes TM × TN elements of C
#define TN 8

#define LANES_M 4  // lanes of a warp one below the other
#define LANES_N 8  // and side by side

#define WM (LANES_M * TM)  // the warp's tile of C: 32 × 64
#define WN (LANES_N * TN)
#define THREADS (32 * (BM / WM) * (BN / WN))

// A row of the transposed tile of A has 4 words more than it needs. So rows 4 apart begin 16 banks apart, and what a
// warp stores into two of them goes to 32 different banks.
#define PAD 4

// What a thread brings, one float4 a load. Of A, two threads take 8 floats of a row, then the next 8. Of B the block
// takes B_ROWS whole rows, then the rows below them.
constexpr int A_LOADS = BK / 8, B_ROWS = THREADS / (BN / 4), B_LOADS = BK / B_ROWS;

static_assert(LANES_M * LANES_N == 32, "a warp has 32 lanes");
static_assert(LANES_M % 2 == 0 && LANES_N % 2 == 0, "its lanes form squares of 2 × 2");
static_assert(BM % WM == 0 && BN % WN == 0, "the block's tile is divided among warps");
static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 8 == 0, "everything is moved in float4");
static_assert(THREADS == 2 * BM && B_LOADS * B_ROWS == BK, "each thread brings the same number of float4");

// launch sgemm_v7(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=THREADS

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
    sgemm_v7(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ __align__(16) float a[BK][BM + PAD];  // transposed: a[l][row]
    __shared__ __align__(16) float b[BK][BN];

    int t = threadIdx.x;
    int row0 = blockIdx.y * BM;
    int col0 = blockIdx.x * BN;

    // Lanes 0 to 3 of a warp are a square of 2 × 2, lanes 4 to 7 the square beside it, …: lane and lane ^ 1 have the
    // same columns, lane and lane ^ 2 the same rows.
    int warp = t / 32, lane = t % 32;
    // YOUR CODE: the row ty and the column tx of the block's tile at which this thread's elements begin.

    int ar = t / 2, ac = t % 2 * 4;                // what this thread brings of A
    int br = t / (BN / 4), bc = t % (BN / 4) * 4;  // and of B

    float sum[TM][TN] = {};
    float fa[TM], fb[TN];

    for (int l0 = 0; l0 < k; l0 += BK) {
        // The next tiles: first all loads, then all stores. A float4 of A is four elements of one row, and becomes one
        // word in each of four rows of the transposed tile.
        float4 qa[A_LOADS], qb[B_LOADS];
#pragma unroll
        for (int u = 0; u < A_LOADS; ++u) {
            int c = ac + 8 * u;
            qa[u] = row0 + ar < m && l0 + c < k ? quad(A[(size_t)(row0 + ar) * k + l0 + c]) : float4{};
        }
#pragma unroll
        for (int u = 0; u < B_LOADS; ++u) {
            int r = br + B_ROWS * u;
            qb[u] = l0 + r < k && col0 + bc < n ? quad(B[(size_t)(l0 + r) * n + col0 + bc]) : float4{};
        }
#pragma unroll
        for (int u = 0; u < A_LOADS; ++u) {
            int c = ac + 8 * u;
            a[c + 0][ar] = qa[u].x;
            a[c + 1][ar] = qa[u].y;
            a[c + 2][ar] = qa[u].z;
            a[c + 3][ar] = qa[u].w;
        }
#pragma unroll
        for (int u = 0; u < B_LOADS; ++u)
            quad(b[br + B_ROWS * u][bc]) = qb[u];

        // Barrier: from here on threads read what others have stored.
        __syncthreads();

#pragma unroll
        for (int l = 0; l < BK; ++l) {
            // YOUR CODE: load TM factors of a and TN of b. Between one float4 and the next lie the other lanes' float4.

            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += fa[i] * fb[j];
        }

        // Barrier: the next round overwrites tiles that others may still be reading.
        __syncthreads();
    }

    // YOUR CODE: store the sums, four at a time.
}
