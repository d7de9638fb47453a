// hgemm_mma: C = A · B on the tensor cores, halves in, floats out, with the instructions that WMMA is made of.
//
// All matrices are row-major; m, n and k are multiples of 16, but not of the block's tiles.

#define BM 256    // a block computes BM × BN elements of C
#define BN 128
#define BK 64     // and goes along k in steps of BK
#define WM 64     // each of its warps computes WM × WN of them
#define WN 64
#define STAGES 3  // steps whose tiles are in shared memory, or on their way there
#define WARPS ((BM / WM) * (BN / WN))
#define STAGE_BYTES ((BM + BN) * BK * 2)  // a tile of A and a tile of B

// launch hgemm_mma(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=32*WARPS shared=STAGES*STAGE_BYTES

#include <cuda_fp16.h>

#define CHUNK 8  // halves in 16 bytes: what a lane copies at once, and one row of a block of ldmatrix
#define THREADS (32 * WARPS)
#define A_BYTES (BM * BK * 2)  // after them, B's tile begins
#define PARTS (BK / 16)        // a step is multiplied in parts of 16 along k, the depth of one product

static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 16 == 0, "whole fragments, whole warps' tiles");
static_assert(BK % 64 == 0 && BN % 64 == 0, "a row of a tile is 128 bytes or a multiple: the swizzle needs 8 chunks");
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

// Loads four blocks of 8 × 8 halves. Lane 8 * i + r gives the address of row r of block i, 16 bytes.
__device__ void ldmatrix_x4(unsigned (&to)[4], unsigned row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

// The same, and transposes each block on the way.
__device__ void ldmatrix_x4_trans(unsigned (&to)[4], unsigned row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

// sum += a · b for a of 16 × 16, b of 16 × 8 (b0 is its upper half, b1 the lower) and sum of 16 × 8 elements.
__device__ void mma_16816(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// ---- the layout of a tile ----

// Byte at which chunk c of row r lies, in a tile whose rows are WIDTH halves long. All copies and loads ask for it.
// Since all rows begin at the same bank, a column of chunks that lay one below the other would share four banks.
// Exchanging the chunks within each row, by XOR with the row's number, puts eight rows' chunks c into eight different
// groups of four banks, and costs no byte.
template <int WIDTH>
__device__ unsigned place(int r, int c)
{
    return (r * WIDTH + (c ^ (r & 7)) * CHUNK) * sizeof(half);
}

// ---- the copies ----

// Copies ROWS × COLS elements of a matrix into a tile, step after step. Neighbouring threads take neighbouring chunks
// of a row, and all threads together copy ROUND rows in a round.
//
// What the addresses take is computed once, before the loop, which only adds to it. So half of all instructions are
// products. With each step's addresses computed from scratch, in one burst for all its copies, an H200 took 15 % longer
// for 4096 × 4096 matrices, and a third of the instructions were products: after each barrier all warps
// computed addresses at the same time, and nobody fed the tensor cores.
template <int ROWS, int COLS>
struct Copier {
    static constexpr int IN_ROW = COLS / CHUNK, ROUND = THREADS / IN_ROW, PER_PART = ROWS / ROUND / PARTS;
    static_assert(THREADS % IN_ROW == 0 && ROWS % (ROUND * PARTS) == 0, "all threads copy equally much in each part");
    static_assert(ROUND % 8 == 0, "a thread has the same r & 7 in all rounds");

    const char* from;  // the thread's first chunk in the matrix
    size_t row_bytes;  // from a row of the matrix to the next one
    unsigned to;       // the thread's first chunk in a tile
    int rows, cols;    // from that chunk to the matrix's edges: 0 or less if it lies outside

    __device__ Copier(const half* M, int row, int col, int all_rows, int all_cols)
    {
        int r = threadIdx.x / IN_ROW, c = threadIdx.x % IN_ROW;
        from = (const char*)(M + (size_t)(row + r) * all_cols + col + c * CHUNK);
        row_bytes = all_cols * sizeof(half);
        to = place<COLS>(r, c);
        rows = all_rows - row - r;
        cols = all_cols - col - c * CHUNK;
    }

    // Begins the copies of one part of a step, PER_PART rounds. In round i a chunk lies i * ROUND rows further down in
    // both memories: ROUND is a multiple of 8, so that r & 7, and with it the place within the row, stays the same. A
    // chunk lies inside the matrix or outside as a whole; outside it counts as 0.
    __device__ void copy(unsigned tile, int part)
    {
#pragma unroll
        for (int i = part * PER_PART; i < (part + 1) * PER_PART; ++i)
            cp_async16(tile + to + i * ROUND * COLS * sizeof(half), from + i * ROUND * row_bytes,
                       i * ROUND < rows && cols > 0);
    }

    // Goes on to the next step's elements.
    __device__ void advance(int down, int right)
    {
        from += down * row_bytes + right * sizeof(half);
        rows -= down;
        cols -= right;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
    hgemm_mma(const half* A, const half* B, float* C, int m, int n, int k)
{
    // STAGES times a tile of A and, after it, a tile of B: a ring. Step s uses stage s % STAGES.
    extern __shared__ __align__(128) half ring[];
    unsigned stages = __cvta_generic_to_shared(ring);
    auto next = [&](unsigned stage) {
        return stage + STAGE_BYTES == stages + STAGES * STAGE_BYTES ? stages : stage + STAGE_BYTES;
    };

    int row = blockIdx.y * BM, col = blockIdx.x * BN;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;

    // The copies of a step are one group, and fill one stage. Then it is BK columns to the right in A, BK rows down in
    // B. Past the end of k all is outside: zeros arrive, nothing is read, and counting the groups stays right. So no
    // step needs to be treated apart.
    Copier<BM, BK> copier_a(A, row, 0, m, k);
    Copier<BK, BN> copier_b(B, 0, col, k, n);
    unsigned filled = stages;
    auto copy_part = [&](int part) {
        copier_a.copy(filled, part);
        copier_b.copy(filled + A_BYTES, part);
        if (part == PARTS - 1) {
            cp_async_commit();
            copier_a.advance(0, BK);
            copier_b.advance(BK, 0);
            filled = next(filled);
        }
    };

    // Where a lane's rows of the fragments lie in a stage, computed once as well. Four blocks are 16 × 16 elements:
    // lanes 0 … 15 give the left chunks of 16 rows, lanes 16 … 31 the right ones. A fragment 16 rows further down needs
    // no address of its own: r & 7 is the same there, so it is a constant number of bytes away. One 16 columns further
    // on is two chunks away, and only place() knows where. Columns run along k in A, along n in B.
    int r = lane % 16, c = lane / 16;
    unsigned a_at[PARTS], b_at[WN / 16];
#pragma unroll
    for (int part = 0; part < PARTS; ++part)
        a_at[part] = place<BK>(warp_row + r, part * 16 / CHUNK + c);
#pragma unroll
    for (int j = 0; j < WN / 16; ++j)
        b_at[j] = A_BYTES + place<BN>(r, (warp_col + j * 16) / CHUNK + c);

    // Loads what a warp needs for a part: WM × 16 elements of A and 16 × WN of B. There are two sets of fragments, for
    // even parts and for odd ones: the next one is loaded while this one is multiplied.
    unsigned a[2][WM / 16][4], b[2][WN / 16][4];
    auto load_fragments = [&](unsigned tiles, int part) {
#pragma unroll
        for (int i = 0; i < WM / 16; ++i)
            ldmatrix_x4(a[part % 2][i], tiles + a_at[part] + i * 16 * BK * sizeof(half));

        // B's rows run along n, but a lane needs two neighbours along k in a register.
#pragma unroll
        for (int j = 0; j < WN / 16; ++j)
            ldmatrix_x4_trans(b[part % 2][j], tiles + b_at[j] + part * 16 * BN * sizeof(half));
    };

#pragma unroll 1
    for (int step = 0; step < STAGES - 1; ++step)
#pragma unroll
        for (int part = 0; part < PARTS; ++part)
            copy_part(part);

    float sum[WM / 16][WN / 8][4] = {};

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
            if (part == PARTS - 1) {
                // STAGES - 2 groups may be in flight, the oldest one for the next step, which must be complete now.
                // (The group that this step fills is not ended yet, and does not count.) Barrier: everybody's part of
                // the next tiles is there. And all warps have read the last of this step's tiles: from here on they
                // may be overwritten.
                cp_async_wait<STAGES - 3>();
                __syncthreads();
                tiles = next(tiles);
            }
            load_fragments(tiles, (part + 1) % PARTS);

            // Begin a part of the copies for STAGES - 1 steps further on. They go into the stage that was multiplied in
            // the step before, and the barrier at its end is behind us. Spread over the parts, they find room between
            // the products.
            copy_part(part);

#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
#pragma unroll
                for (int j = 0; j < WN / 8; ++j) {
                    const unsigned* b_two = b[part % 2][j / 2];  // 16 columns of B: registers 0, 1 and 2, 3 are 8 each
                    mma_16816(sum[i][j], a[part % 2][i], b_two[j % 2 * 2], b_two[j % 2 * 2 + 1]);
                }
        }
    }

    // A lane holds two neighbours in row lane / 4 of each 16 × 8 elements, and two more 8 rows further down: 8 bytes a
    // lane, and 4 lanes fill a sector. Each 16 × 8 lies inside C or outside as a whole.
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) {
            int to_row = row + warp_row + i * 16 + lane / 4, to_col = col + warp_col + j * 8 + lane % 4 * 2;
            if (to_row < m && to_col < n) {
                *(float2*)&C[(size_t)to_row * n + to_col] = make_float2(sum[i][j][0], sum[i][j][1]);
                *(float2*)&C[(size_t)(to_row + 8) * n + to_col] = make_float2(sum[i][j][2], sum[i][j][3]);
            }
        }
}
