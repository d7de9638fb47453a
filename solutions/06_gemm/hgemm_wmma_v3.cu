// hgemm_wmma_v3: C = A · B on the tensor cores, halves in, floats out. No bank conflicts.
//
// All matrices are row-major; m, n and k are multiples of 16, but not of the block's tiles.

#define BM 128    // a block computes BM × BN elements of C
#define BN 128
#define BK 16     // and goes along k in steps of BK
#define WM 64     // each of its warps computes WM × WN of them
#define WN 64
#define BLOCKS 3  // blocks on each SM at a time: while one of them loads its tiles, others multiply
#define PAD 8     // unused halves after each row of a tile: 16 bytes

// launch hgemm_wmma_v3(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=32*(BM/WM)*(BN/WN)

#include <mma.h>

using namespace nvcuda;

#define TILE 16  // a fragment
#define CHUNK 8  // halves in 16 bytes: what a lane loads at once
#define THREADS (32 * (BM / WM) * (BN / WN))

static_assert(BM % WM == 0 && BN % WN == 0, "the warps' tiles fill the block's tile");
static_assert(WM % TILE == 0 && WN % TILE == 0 && BK % TILE == 0, "fragments fill a warp's tile");

// A thread's share of a tile of ROWS × COLS elements, on its way through registers. All threads together take ROUND
// rows at once.
template <int ROWS, int COLS>
struct Share {
    static constexpr int IN_ROW = COLS / CHUNK, ROUND = THREADS / IN_ROW, ROUNDS = ROWS / ROUND;
    static_assert(THREADS % IN_ROW == 0 && ROWS % ROUND == 0, "all threads load equally much");

    // Eight lanes store at the same time, and must fill all banks once. Where a row has eight chunks, they store side
    // by side. Where it is shorter, they would go on in the next row, past the padding, and meet the first ones' banks:
    // there eight lanes store one below the other, as fragments are read.
    static constexpr int DOWN = IN_ROW < 8 ? 8 : 1;
    static_assert(ROUND % DOWN == 0, "columns of DOWN chunks fill what all threads take at once");

    uint4 chunks[ROUNDS];

    // The thread's first chunk in the tile.
    // Of DOWN × IN_ROW threads, DOWN neighbours take a column of chunks.
    static __device__ int first_row() { return threadIdx.x / (DOWN * IN_ROW) * DOWN + threadIdx.x % DOWN; }
    static __device__ int first_col() { return threadIdx.x / DOWN % IN_ROW * CHUNK; }

    // The tile begins at (row, col) of a matrix with `rows` rows and `cols` columns. These are multiples of 16, so that
    // a chunk of 8 lies inside as a whole or outside as a whole. Outside counts as 0, and adds nothing to any sum.
    __device__ void load(const half* M, int row, int col, int rows, int cols)
    {
        int r = row + first_row(), c = col + first_col();
        for (int i = 0; i < ROUNDS; ++i) {
            bool inside = r + i * ROUND < rows && c < cols;
            chunks[i] = inside ? *(const uint4*)(M + (size_t)(r + i * ROUND) * cols + c) : make_uint4(0, 0, 0, 0);
        }
    }

    __device__ void store(half (&tile)[ROWS][COLS + PAD])
    {
        for (int i = 0; i < ROUNDS; ++i)
            *(uint4*)&tile[first_row() + i * ROUND][first_col()] = chunks[i];
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    hgemm_wmma_v3(const half* A, const half* B, float* C, int m, int n, int k)
{
    // Rows are an odd multiple of 16 bytes long, 48 and 272: of eight rows no two begin in the same four banks.
    __shared__ __align__(32) half a_tile[BM][BK + PAD];
    __shared__ __align__(32) half b_tile[BK][BN + PAD];

    int row = blockIdx.y * BM, col = blockIdx.x * BN;

    // The block's warps lie in a grid, BN / WN of them side by side.
    int warp = threadIdx.x / 32;
    int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;

    // A warp's part of C: 4 × 4 fragments, which stay in registers from the first step to the last.
    wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> sum[WM / TILE][WN / TILE];
    for (int i = 0; i < WM / TILE; ++i)
        for (int j = 0; j < WN / TILE; ++j)
            wmma::fill_fragment(sum[i][j], 0.0f);

    for (int step = 0; step < k; step += BK) {
        // All loads are asked for before the first one is needed, so that they are on their way together.
        Share<BM, BK> a_share;
        Share<BK, BN> b_share;
        a_share.load(A, row, step, m, k);
        b_share.load(B, step, col, k, n);
        a_share.store(a_tile);
        b_share.store(b_tile);

        // Barrier: from here on warps read what others have stored.
        __syncthreads();

        for (int kk = 0; kk < BK; kk += TILE) {
            wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a[WM / TILE];

            // 4 + 4 fragments for 4 · 4 products: each one is used several times.
            // The leading dimension is the whole row of a tile, with its padding.
            for (int i = 0; i < WM / TILE; ++i)
                wmma::load_matrix_sync(a[i], &a_tile[warp_row + i * TILE][kk], BK + PAD);
            for (int j = 0; j < WN / TILE; ++j) {
                wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::row_major> b;
                wmma::load_matrix_sync(b, &b_tile[kk][warp_col + j * TILE], BN + PAD);
                for (int i = 0; i < WM / TILE; ++i)
                    wmma::mma_sync(sum[i][j], a[i], b, sum[i][j]);
            }
        }

        // Barrier: the next step overwrites the tiles, which no warp may be reading any more.
        __syncthreads();
    }

    // m and n are multiples of 16: a fragment lies inside C as a whole or outside as a whole.
    for (int i = 0; i < WM / TILE; ++i)
        for (int j = 0; j < WN / TILE; ++j) {
            int r = row + warp_row + i * TILE, c = col + warp_col + j * TILE;
            if (r < m && c < n)
                wmma::store_matrix_sync(C + (size_t)r * n + c, sum[i][j], n, wmma::mem_row_major);
        }
}
