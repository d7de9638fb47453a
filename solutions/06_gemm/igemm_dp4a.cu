// igemm_dp4a: C = A · B, signed bytes in, 32-bit integers out. One dp4a adds four products of bytes to a sum.
//
// A is row-major and B column-major: in both matrices the bytes along k lie side by side. A row of A and a column of B
// are called a line here, and 16 bytes of a line a chunk: what a thread copies and loads at once. k is a multiple of 16.

#define BM 128    // a block computes BM × BN elements of C
#define BN 128
#define BK 128    // and goes along k in steps of BK bytes
#define TM 8      // each of its threads computes TM × TN of them
#define TN 8
#define STAGES 3  // steps whose tiles are in shared memory, or on their way there
#define THREADS ((BM / TM) * (BN / TN))
#define STAGE_BYTES ((BM + BN) * BK)  // a tile of A and, after it, a tile of B

// launch igemm_dp4a(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=THREADS shared=STAGES*STAGE_BYTES

#define CHUNK 16              // bytes
#define CHUNKS (BK / CHUNK)   // chunks of a line in a tile
#define LANES_M 4             // the lanes of a warp: 4 down, 8 across
#define LANES_N 8
#define WM (TM * LANES_M)     // a warp computes WM × WN elements of C
#define WN (TN * LANES_N)

static_assert(BM % WM == 0 && BN % WN == 0, "the warps' tiles fill the block's tile");
static_assert(BK == 128, "a line of a tile fills all banks: place() exchanges 8 chunks");
static_assert(STAGES >= 2, "one stage is multiplied while another one is filled");

// Begins to copy 16 bytes from global to shared memory. Where `inside` is false nothing is read, and 16 zeros arrive.
__device__ void cp_async16(unsigned to, const void* from, bool inside)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

// Ends a group of copies. A thread's groups are complete in the order in which it ended them.
__device__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most PENDING of this thread's groups are not complete.
template <int PENDING>
__device__ void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// Byte at which chunk c of a line lies in a tile. All copies and loads ask for it. All lines begin at the same bank.
// The chunks are exchanged by XOR: one chunk of eight neighbouring lines lies in eight groups of four banks.
__device__ int place(int line, int c)
{
    return line * BK + (c ^ line % 8) * CHUNK;
}

// Copies LINES lines of a matrix into a tile, BK bytes of each, step after step. Neighbouring threads copy neighbouring
// chunks of a line: whole sectors. All threads together copy ROUND lines in a round.
template <int LINES>
struct Copier {
    static constexpr int ROUND = THREADS / CHUNKS;
    static_assert(THREADS % CHUNKS == 0 && LINES % ROUND == 0, "all threads copy equally much");
    static_assert(ROUND % 8 == 0, "a thread's chunks have the same place in their lines");

    const signed char* from;  // the thread's first chunk in the matrix
    size_t round_bytes;       // from there to the chunk ROUND lines further on
    unsigned to;              // its place in a tile
    int lines, left;          // lines and bytes from there to the matrix's ends: 0 or less if it lies outside

    __device__ Copier(const signed char* matrix, int first, int all_lines, int k)
    {
        int line = threadIdx.x / CHUNKS, c = threadIdx.x % CHUNKS;
        from = matrix + (size_t)(first + line) * k + c * CHUNK;
        round_bytes = (size_t)ROUND * k;
        to = place(line, c);
        lines = all_lines - first - line;
        left = k - c * CHUNK;
    }

    // Begins the copies of a step, and goes on to the next one. Chunks past the last line or past k count as 0.
    __device__ void copy(unsigned tile)
    {
#pragma unroll
        for (int i = 0; i < LINES / ROUND; ++i)
            cp_async16(tile + to + i * ROUND * BK, from + i * round_bytes, i * ROUND < lines && left > 0);
        from += BK;
        left -= BK;
    }
};

// Two blocks of 256 threads on a multiprocessor: while one waits at its barrier, the other computes.
extern "C" __global__ void __launch_bounds__(THREADS, 512 / THREADS)
    igemm_dp4a(const signed char* A, const signed char* B, int* C, int m, int n, int k)
{
    // STAGES times a tile of A and, after it, a tile of B: a ring. Step s uses stage s % STAGES.
    extern __shared__ __align__(128) char ring[];
    auto next = [](int stage) { return stage == (STAGES - 1) * STAGE_BYTES ? 0 : stage + STAGE_BYTES; };

    // A thread's rows are LANES_M apart, and its columns LANES_N: a warp loads neighbouring lines. Four lanes are a
    // square of 2 × 2, so that lanes l and l ^ 1 have the same columns, l and l ^ 2 the same rows: then 16 bytes a lane
    // take two wavefronts.
    int first_row = blockIdx.y * BM, first_col = blockIdx.x * BN;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int row = warp / (BN / WN) * WM + lane / 16 * 2 + lane % 2;
    int col = warp % (BN / WN) * WN + lane / 2 % LANES_N;

    // The copies of a step are one group. Past the end of k zeros are copied, and nothing is read, so that no step has
    // to be treated apart, and the groups can be counted.
    Copier<BM> copy_a(A, first_row, m, k);
    Copier<BN> copy_b(B, first_col, n, k);
    int filled = 0;
    auto copy_step = [&] {
        unsigned stage = __cvta_generic_to_shared(ring + filled);
        copy_a.copy(stage);
        copy_b.copy(stage + BM * BK);
        cp_async_commit();
        filled = next(filled);
    };
#pragma unroll 1
    for (int step = 0; step < STAGES - 1; ++step)
        copy_step();

    int sum[TM][TN] = {};
    int now = 0;
#pragma unroll 1
    for (int at = 0; at < k; at += BK) {
        // STAGES - 1 groups are in flight, and the oldest one is needed. A thread waits for its own copies only.
        // Barrier: everybody's have arrived. And all warps have multiplied the step before, so that its stage may be
        // filled again: that is what the next copies do.
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        copy_step();

        const char *a_tile = ring + now, *b_tile = ring + now + BM * BK;
#pragma unroll 1
        for (int c = 0; c < CHUNKS; ++c) {
            // The chunks of all rows stay in registers, 32 words; those of the columns come one after the other.
            int4 a[TM];
#pragma unroll
            for (int i = 0; i < TM; ++i)
                a[i] = *(const int4*)(a_tile + place(row + i * LANES_M, c));
#pragma unroll
            for (int j = 0; j < TN; ++j) {
                int4 b = *(const int4*)(b_tile + place(col + j * LANES_N, c));
#pragma unroll
                for (int i = 0; i < TM; ++i) {
                    sum[i][j] = __dp4a(a[i].x, b.x, sum[i][j]);  // signed, because its arguments are
                    sum[i][j] = __dp4a(a[i].y, b.y, sum[i][j]);
                    sum[i][j] = __dp4a(a[i].z, b.z, sum[i][j]);
                    sum[i][j] = __dp4a(a[i].w, b.w, sum[i][j]);
                }
            }
        }
        now = next(now);
    }

    // A warp stores 4 rows of 8 neighbours at a time: four whole sectors.
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            int r = first_row + row + i * LANES_M, c = first_col + col + j * LANES_N;
            if (r < m && c < n)
                C[(size_t)r * n + c] = sum[i][j];
        }
}
