// igemm_mma: C = A · B on the tensor cores, signed bytes in, 32-bit integers out.
//
// A is row-major and B column-major: in both matrices the bytes along k lie side by side. A row of A and a column of B
// are called a line here, and 16 bytes of a line a chunk: what a thread copies at once, and one row of a block of
// ldmatrix. m is any number, n a multiple of 4, k a multiple of 16.

#define BM 256    // a block computes BM × BN elements of C
#define BN 128
#define BK 128    // and goes along k in steps of BK bytes
#define WM 64     // each of its warps computes WM × WN of them
#define WN 64
#define STAGES 3  // steps whose tiles are in shared memory, or on their way there
#define WARPS ((BM / WM) * (BN / WN))
#define STAGE_BYTES ((BM + BN) * BK)  // a tile of A and, after it, a tile of B

// launch igemm_mma(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=32*WARPS shared=STAGES*STAGE_BYTES

#define CHUNK 16             // bytes
#define CHUNKS (BK / CHUNK)  // chunks of a line in a tile
#define THREADS (32 * WARPS)
#define PARTS (BK / 32)      // a step is multiplied in parts of 32 along k, the depth of one product

static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 16 == 0, "whole fragments, whole warps' tiles");
static_assert(BK == 128, "a line of a tile is 128 bytes: the swizzle exchanges 8 chunks");
static_assert(PARTS % 2 == 0, "two sets of fragments take turns: each step begins with the same one");
static_assert(STAGES >= 3, "one stage is multiplied, one has arrived, one is filled");

// ---- the instructions, a function each; an address in shared memory is a number of 32 bits here ----

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

// Loads four blocks of 8 rows of 16 bytes. Lane 8 * i + r gives the address of row r of block i. Of it lane l receives,
// in register i, the four bytes number l % 4 of row l / 4.
__device__ void ldmatrix_x4(unsigned (&to)[4], unsigned row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

// sum += a · b for bytes: a of 16 × 32, b of 32 × 8 (b0 is its upper half, b1 the lower) and sum of 16 × 8 integers.
__device__ void mma_16832(int (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Byte at which chunk c of a line lies in a tile. All copies and loads ask for it.
// The chunks are exchanged by XOR: one chunk of eight neighbouring lines lies in eight groups of four banks.
__device__ unsigned place(int line, int c)
{
    return line * BK + (c ^ line % 8) * CHUNK;
}

// Copies LINES lines of a matrix into a tile, BK bytes of each, step after step. Neighbouring threads copy neighbouring
// chunks of a line: whole sectors. All threads together copy ROUND lines in a round. What the addresses take is computed
// once, before the loop.
template <int LINES>
struct Copier {
    static constexpr int ROUND = THREADS / CHUNKS, PER_PART = LINES / ROUND / PARTS;
    static_assert(THREADS % CHUNKS == 0 && LINES % (ROUND * PARTS) == 0, "all threads copy equally much in each part");
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

    // Begins the copies of one part of a step, PER_PART rounds. Chunks past the last line or past k count as 0.
    __device__ void copy(unsigned tile, int part)
    {
#pragma unroll
        for (int i = part * PER_PART; i < (part + 1) * PER_PART; ++i)
            cp_async16(tile + to + i * ROUND * BK, from + i * round_bytes, i * ROUND < lines && left > 0);
    }

    // Goes on to the next step.
    __device__ void advance()
    {
        from += BK;
        left -= BK;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
    igemm_mma(const signed char* A, const signed char* B, int* C, int m, int n, int k)
{
    // STAGES times a tile of A and, after it, a tile of B: a ring. Step s uses stage s % STAGES.
    extern __shared__ __align__(128) char ring[];
    unsigned stages = __cvta_generic_to_shared(ring);
    auto next = [&](unsigned stage) {
        return stage + STAGE_BYTES == stages + STAGES * STAGE_BYTES ? stages : stage + STAGE_BYTES;
    };

    int row = blockIdx.y * BM, col = blockIdx.x * BN;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;

    // The copies of a step are one group, and fill one stage. Past the end of k zeros are copied, and nothing is read,
    // so that no step has to be treated apart, and the groups can be counted.
    Copier<BM> copy_a(A, row, m, k);
    Copier<BN> copy_b(B, col, n, k);
    unsigned filled = stages;
    auto copy_part = [&](int part) {
        copy_a.copy(filled, part);
        copy_b.copy(filled + BM * BK, part);
        if (part == PARTS - 1) {
            cp_async_commit();
            copy_a.advance();
            copy_b.advance();
            filled = next(filled);
        }
    };

    // B's columns lie in memory as A's rows do, so that nothing is transposed. Four blocks of A are 16 lines, first their
    // left chunks, then their right ones. Of B they are two fragments of 8 lines: both chunks of the first one, then
    // both of the second one.
    int a_line = warp_row + lane % 16, a_chunk = lane / 16;
    int b_line = warp_col + lane / 16 * 8 + lane % 8, b_chunk = lane / 8 % 2;

    // Loads what a warp needs for a part: WM lines of A and WN of B, 32 bytes of each. There are two sets, for even parts
    // and for odd ones: the next one is loaded while this one is multiplied.
    unsigned a[2][WM / 16][4], b[2][WN / 16][4];
    auto load_fragments = [&](unsigned tiles, int part) {
        unsigned a_at = tiles + place(a_line, 2 * part + a_chunk);
        unsigned b_at = tiles + BM * BK + place(b_line, 2 * part + b_chunk);
#pragma unroll
        for (int i = 0; i < WM / 16; ++i)
            ldmatrix_x4(a[part % 2][i], a_at + i * 16 * BK);  // 16 lines further on the place in the line is the same
#pragma unroll
        for (int j = 0; j < WN / 16; ++j)
            ldmatrix_x4(b[part % 2][j], b_at + j * 16 * BK);
    };

#pragma unroll 1
    for (int step = 0; step < STAGES - 1; ++step)
#pragma unroll
        for (int part = 0; part < PARTS; ++part)
            copy_part(part);

    int sum[WM / 16][WN / 8][4] = {};

    // STAGES - 1 groups are in flight, and the oldest one is needed. The wait is for this thread's own copies only;
    // barrier: now everybody's have arrived.
    unsigned tiles = stages;
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    load_fragments(tiles, 0);

#pragma unroll 1
    for (int done = 0; done < k; done += BK) {
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            // After the last fragments of this step come the first ones of the next step.
            // Its group must be complete now; the one that this step fills is not ended yet, and does not count.
            // Barrier: everybody's part of the next tiles is there, and all warps have read the last of this step's
            // tiles, which may be overwritten.
            if (part == PARTS - 1) {
                cp_async_wait<STAGES - 3>();
                __syncthreads();
                tiles = next(tiles);
            }
            load_fragments(tiles, (part + 1) % PARTS);

            // Begin a part of the copies for STAGES - 1 steps further on, into the stage that was multiplied in the step
            // before: the barrier at its end is behind us.
            copy_part(part);

#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
#pragma unroll
                for (int j = 0; j < WN / 8; ++j) {
                    const unsigned* b_two = b[part % 2][j / 2];  // 16 columns of B: registers 0, 1 and 2, 3 are 8 each
                    mma_16832(sum[i][j], a[part % 2][i], b_two[j % 2 * 2], b_two[j % 2 * 2 + 1]);
                }
        }
    }

    // A lane holds two neighbours in row lane / 4 of each 16 × 8 elements, and two more 8 rows further down: 8 bytes a
    // lane, and 4 lanes fill a sector. n is a multiple of 4, so that two neighbours are inside C or outside together.
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) {
            int r = row + warp_row + i * 16 + lane / 4, c = col + warp_col + j * 8 + lane % 4 * 2;
            if (r < m && c < n)
                *(int2*)&C[(size_t)r * n + c] = make_int2(sum[i][j][0], sum[i][j][1]);
            if (r + 8 < m && c < n)
                *(int2*)&C[(size_t)(r + 8) * n + c] = make_int2(sum[i][j][2], sum[i][j][3]);
        }
}
