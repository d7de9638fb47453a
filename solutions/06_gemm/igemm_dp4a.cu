// igemm_dp4a: C = A · B, signed bytes in, 32-bit integers out. One dp4a adds four products of bytes to a sum.
//
// A is row-major and B column-major: in both matrices the bytes along k lie side by side. Each block computes a tile of
// BM × BN elements of C, each thread TM × TN of them.

#define BM 128  // rows of C in a block
#define BN 128  // columns of C in a block
#define BK 32   // bytes along k in a step
#define TM 8    // rows of C in a thread
#define TN 8    // columns of C in a thread
#define THREADS ((BM / TM) * (BN / TN))

// launch igemm_dp4a(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=THREADS

#define WORDS (BK / 4)    // a word is four bytes along k: what a dp4a takes
#define CHUNKS (BK / 16)  // a chunk is four words: what a thread loads at once

// Four words that spread the stores of a warp over the banks: see store_chunk().
#define PAD 4

static_assert(BK % 16 == 0, "BK counts bytes and is loaded in chunks of 16");
static_assert(TM % 4 == 0 && TN % 4 == 0, "a thread takes its rows and columns in fours");
static_assert(BM % TM == 0 && BN % TN == 0, "the threads' tiles must fill the block's tile");

// Bytes `at` to `at + 15` of one row of A, or of one column of B. Past the end of the matrix there are zeros, which
// add nothing to any sum. k is a multiple of 16, so that a chunk is inside or outside as a whole, and aligned.
__device__ int4 load_chunk(const signed char* matrix, int line, int lines, int at, int k)
{
    if (line >= lines || at >= k)
        return make_int4(0, 0, 0, 0);
    return *reinterpret_cast<const int4*>(matrix + (size_t)line * k + at);
}

// A tile keeps word w of all its lines side by side: tile[w][line]. A warp stores word 4 * chunk + j of 16 lines and of
// both chunks at once. A row of the tile has LINES + 4 words, so four rows further on is 16 banks further on.
template <int LINES>
__device__ void store_chunk(int (*tile)[LINES + PAD], int line, int chunk, int4 v)
{
    tile[4 * chunk + 0][line] = v.x;
    tile[4 * chunk + 1][line] = v.y;
    tile[4 * chunk + 2][line] = v.z;
    tile[4 * chunk + 3][line] = v.w;
}

// Loads LINES × BK bytes. Neighbouring threads take the chunks of one line: whole sectors of 32 bytes.
template <int LINES>
__device__ void load_tile(int (*tile)[LINES + PAD], const signed char* matrix, int first, int lines, int at, int k)
{
#pragma unroll
    for (int i = threadIdx.x; i < LINES * CHUNKS; i += THREADS) {
        int line = i / CHUNKS;
        int chunk = i % CHUNKS;
        store_chunk<LINES>(tile, line, chunk, load_chunk(matrix, first + line, lines, at + 16 * chunk, k));
    }
}

// Words of COUNT lines: four side by side, then four that are a whole STEP further on, and so on. Neighbouring threads
// read neighbouring fours, so their 16-byte loads have no bank conflicts.
template <int COUNT, int STEP>
__device__ void load_words(int* words, const int* row, int first)
{
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) {
        int4 v = *reinterpret_cast<const int4*>(row + first + i / 4 * STEP);
        words[i] = v.x;
        words[i + 1] = v.y;
        words[i + 2] = v.z;
        words[i + 3] = v.w;
    }
}

// Two blocks of 256 threads on a multiprocessor: while one waits for global memory or at a barrier, the other computes.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    igemm_dp4a(const signed char* A, const signed char* B, int* C, int m, int n, int k)
{
    __shared__ __align__(16) int a_tile[WORDS][BM + PAD];
    __shared__ __align__(16) int b_tile[WORDS][BN + PAD];

    int first_row = blockIdx.y * BM;
    int first_col = blockIdx.x * BN;
    int row = threadIdx.x / (BN / TN) * 4;  // the thread's first row and column in the block's tile
    int col = threadIdx.x % (BN / TN) * 4;

    int sum[TM][TN] = {};
    for (int at = 0; at < k; at += BK) {
        // B is stored column by column, so that its columns are loaded just like A's rows.
        load_tile<BM>(a_tile, A, first_row, m, at, k);
        load_tile<BN>(b_tile, B, first_col, n, at, k);

        // Barrier: all words of both tiles are stored before any thread reads them.
        __syncthreads();

#pragma unroll 2
        for (int w = 0; w < WORDS; ++w) {
            int a[TM], b[TN];
            load_words<TM, 4 * (BM / TM)>(a, a_tile[w], row);
            load_words<TN, 4 * (BN / TN)>(b, b_tile[w], col);
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j)
                    sum[i][j] = __dp4a(a[i], b[j], sum[i][j]);  // signed, because its arguments are
        }

        // Barrier: all threads have read the tiles before the next step overwrites them.
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < TM; ++i) {
        int r = first_row + row + i / 4 * (4 * (BM / TM)) + i % 4;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            int c = first_col + col + j / 4 * (4 * (BN / TN));
            // n is a multiple of 4: either all four columns are inside, or none is.
            if (r < m && c < n)
                *reinterpret_cast<int4*>(C + (size_t)r * n + c) =
                    make_int4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
        }
    }
}
