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

    // This thread's elements: four neighbouring rows, four more 4·DOWN further down, …; columns likewise. So lanes that
    // are neighbours want float4 that are neighbours. Eight columns in a row would leave gaps, which are conflicts.
    int tx = t % ACROSS * 4;
    int ty = t / ACROSS * 4;

    float sum[TM][TN] = {};
    float fa[TM], fb[TN];

    for (int l0 = 0; l0 < k; l0 += BK) {
        // YOUR CODE: bring the tiles, 4 elements a load. A's are stored transposed; past an edge the tile is 0.

        // Barrier: from here on threads read what others have stored.
        __syncthreads();

#pragma unroll
        for (int l = 0; l < BK; ++l) {
            // YOUR CODE: load TM factors of a and TN of b, four at a time.

            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j)
                    sum[i][j] += fa[i] * fb[j];
        }

        // Barrier: the next round overwrites tiles that others may still be reading.
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; j += 4) {
            int row = row0 + ty + i / 4 * 4 * DOWN + i % 4, col = col0 + tx + j * ACROSS;
            if (row < m && col < n)
                quad(C[(size_t)row * n + col]) = quad(sum[i][j]);
        }
}
