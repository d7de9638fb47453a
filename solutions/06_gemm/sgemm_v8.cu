// sgemm_v8: C = A · B in fp32, with double buffering: while a tile is multiplied, the next one is already on its way,
// into registers first and then into a second buffer.
//
// All matrices are row-major; n and k are multiples of 4, so that each float4 of a row is there or not as a whole.

#define BM 128  // rows of the block's tile of C
#define BN 128  // columns of it
#define BK 16   // columns of the tile of A, rows of the tile of B
#define TM 8    // a thread computes TM × TN elements of C
#define TN 16

#define LANES_M 4  // lanes of a warp one below the other
#define LANES_N 8  // and side by side

constexpr int WM = LANES_M * TM, WN = LANES_N * TN;  // the warp's tile: 32 × 128
constexpr int THREADS = 32 * (BM / WM) * (BN / WN);

// A row of the transposed tile of A has 4 words more than it needs. So rows 4 apart begin 16 banks apart, and what a
// warp stores into two of them goes to 32 different banks.
constexpr int PAD = 4;

// What a thread brings, one float4 a load. Of A, two threads take 8 floats of a row, which are one sector, and the
// block A_ROWS rows; then the rows below these; then the next 8 floats. Of B the block takes B_ROWS whole rows.
constexpr int A_ROWS = THREADS / 2, A_DOWN = BM / A_ROWS, A_LOADS = A_DOWN * (BK / 8);
constexpr int B_ROWS = THREADS / (BN / 4), B_LOADS = BK / B_ROWS;

static_assert(LANES_M * LANES_N == 32, "a warp has 32 lanes");
static_assert(LANES_M % 2 == 0 && LANES_N % 2 == 0, "its lanes form squares of 2 × 2");
static_assert(BM % WM == 0 && BN % WN == 0, "the block's tile is divided among warps");
static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 8 == 0, "everything is moved in float4");
static_assert(A_DOWN * A_ROWS == BM && B_LOADS * B_ROWS == BK, "each thread brings the same number of float4");

// launch sgemm_v8(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=THREADS

struct Tiles {
    float a[BK][BM + PAD];  // transposed: a[l][row]
    float b[BK][BN];
};

// The four floats from `first` on, as one access. Its address must be a multiple of 16 bytes.
__device__ float4& quad(float& first)
{
    return reinterpret_cast<float4&>(first);
}

__device__ const float4& quad(const float& first)
{
    return reinterpret_cast<const float4&>(first);
}

// Two blocks on a multiprocessor: while one stands at its barrier, the other computes.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    sgemm_v8(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ __align__(16) Tiles tiles[2];

    unsigned t = threadIdx.x;
    int row0 = blockIdx.y * BM;
    int col0 = blockIdx.x * BN;

    // What this thread brings. Past the last row of A it takes the last one again, and so with the columns of B:
    // these products belong to elements that C does not have, and the loads need no condition on m or n.
    int ar = t / 2, ac = t % 2 * 4;
    int br = t / (BN / 4), bc = t % (BN / 4) * 4;
    const float* from_a[A_DOWN];
#pragma unroll
    for (int i = 0; i < A_DOWN; ++i)
        from_a[i] = A + (size_t)min(row0 + ar + i * A_ROWS, m - 1) * k + ac;
    const float* from_b = B + (size_t)br * n + min(col0 + bc, n - 4);

    float4 qa[A_LOADS], qb[B_LOADS];  // the next tile, on its way

    auto put_into = [&](Tiles& to) {
#pragma unroll
        for (int i = 0; i < A_LOADS; ++i) {
            int l = ac + i / A_DOWN * 8, r = ar + i % A_DOWN * A_ROWS;
            to.a[l + 0][r] = qa[i].x;
            to.a[l + 1][r] = qa[i].y;
            to.a[l + 2][r] = qa[i].z;
            to.a[l + 3][r] = qa[i].w;
        }
#pragma unroll
        for (int i = 0; i < B_LOADS; ++i)
            quad(to.b[br + i * B_ROWS][bc]) = qb[i];
    };

    // What this thread computes: in the tile of its warp, and there as a lane. Lanes 0 to 3 are a square of 2 × 2,
    // lanes 4 to 7 the square beside it, …: lane and lane ^ 1 have the same columns, lane and lane ^ 2 the same rows.
    int warp = t / 32, lane = t % 32;
    int down = lane / (2 * LANES_N) * 2 + lane % 2;  // so many lanes are above this one
    int across = lane / 2 % LANES_N;                 // and so many to the left of it
    int ty = warp / (BN / WN) * WM + down * 4;
    int tx = warp % (BN / WN) * WN + across * 4;

    float sum[TM][TN] = {};
    float fa[TM], fb[TN];

    // The first tile is the odd one: it takes 4 to BK columns, so many that whole tiles are left, and has zeros after
    // them, since those terms are added to elements that C does have. All other loads need no condition at all.
    int fetched = (k - 1) % BK + 1;
#pragma unroll
    for (int i = 0; i < A_LOADS; ++i)
        qa[i] = ac + i / A_DOWN * 8 < fetched ? quad(from_a[i % A_DOWN][i / A_DOWN * 8]) : float4{};
#pragma unroll
    for (int i = 0; i < B_LOADS; ++i)
        qb[i] = br + i * B_ROWS < fetched ? quad(from_b[(size_t)i * B_ROWS * n]) : float4{};
#pragma unroll
    for (int i = 0; i < A_DOWN; ++i)
        from_a[i] += fetched;
    from_b += (size_t)fetched * n;

    int now = 0;  // the buffer that is being multiplied
    put_into(tiles[now]);

    // Barrier: the first tile is there.
    __syncthreads();

#pragma unroll 1
    for (bool more = true; more; fetched += BK) {
        more = fetched < k;

        // The next tile sets out. Nothing here waits for it: a load only stops who uses its register.
        if (more) {
#pragma unroll
            for (int i = 0; i < A_LOADS; ++i)
                qa[i] = quad(from_a[i % A_DOWN][i / A_DOWN * 8]);
#pragma unroll
            for (int i = 0; i < B_LOADS; ++i)
                qb[i] = quad(from_b[(size_t)i * B_ROWS * n]);
#pragma unroll
            for (int i = 0; i < A_DOWN; ++i)
                from_a[i] += BK;
            from_b += (size_t)BK * n;
        }

#pragma unroll
        for (int l = 0; l < BK; ++l) {
#pragma unroll
            for (int i = 0; i < TM; i += 4)
                quad(fa[i]) = quad(tiles[now].a[l][ty + i * LANES_M]);
#pragma unroll
            for (int j = 0; j < TN; j += 4)
                quad(fb[j]) = quad(tiles[now].b[l][tx + j * LANES_N]);

            // With the last factors in registers this buffer is done, and by now the next tile has arrived. The other
            // buffer is free: all had their last factors out of it before the barrier of the last round.
            if (l + 1 == BK && more) {
                now ^= 1;
                put_into(tiles[now]);

                // Barrier: the next tile is there; and all have their factors out of the buffer of this one, which the
                // next round overwrites.
                __syncthreads();
            }

            // In the plain order: ptxas arranges the products of several steps anyway.
#pragma unroll
            for (int j = 0; j < TN; ++j)
#pragma unroll
                for (int i = 0; i < TM; ++i)
                    sum[i][j] += fa[i] * fb[j];
        }
    }

    // Four floats and not a float4, for the sake of the loop above. A float4 has to be in four registers in a row, from
    // a multiple of 4 on. So sum[i][j] would always be in the register bank of fb[j]; and where fa[i] is in that bank
    // as well, the multiply-add would read three registers of one bank. The ladder's page has more: `grade show sgemm`.
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        int row = row0 + ty + i / 4 * 4 * LANES_M + i % 4;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            int col = col0 + tx + j * LANES_N;
            if (row < m && col < n)
#pragma unroll
                for (int q = 0; q < 4; ++q)
                    C[(size_t)row * n + col + q] = sum[i][j + q];
        }
    }
}
