// expect: sim=pass gpu=slow
// Right, but at each step all threads compute all addresses anew, in one burst: nobody feeds the tensor cores.

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

static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 16 == 0, "whole fragments, whole warps' tiles");
static_assert(BK % 64 == 0 && BN % 64 == 0, "a row of a tile is 128 bytes or a multiple: the swizzle needs 8 chunks");
static_assert(STAGES >= 2, "one stage is multiplied while another one is filled");

// ---- the instructions, a function each; an address in shared memory is a number of 32 bits here ----

// Begins to copy 16 bytes from global to shared memory. Where `inside` is false nothing is read, and 16 zeros arrive.
__device__ void cp_async16(unsigned to, const half* from, bool inside)
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

// Begins to copy ROWS × COLS elements from (row, col) on of a matrix with `rows` rows and `cols` columns.
template <int ROWS, int COLS>
__device__ void copy_tile(unsigned tile, const half* M, int row, int col, int rows, int cols)
{
    // Neighbouring threads take neighbouring chunks. All threads together copy ROUND rows at once.
    constexpr int IN_ROW = COLS / CHUNK, ROUND = THREADS / IN_ROW;
    static_assert(THREADS % IN_ROW == 0 && ROWS % ROUND == 0, "all threads copy equally much");
#pragma unroll
    for (int i = 0; i < ROWS / ROUND; ++i) {
        int r = threadIdx.x / IN_ROW + i * ROUND, c = threadIdx.x % IN_ROW;

        // A chunk lies inside or outside as a whole. Outside it counts as 0, and its address must be a valid one.
        bool inside = row + r < rows && col + c * CHUNK < cols;
        const half* from = inside ? M + (size_t)(row + r) * cols + col + c * CHUNK : M;
        cp_async16(tile + place<COLS>(r, c), from, inside);
    }
}

// Loads what a warp needs for 16 steps along k: WM × 16 elements of A and 16 × WN of B.
__device__ void load_fragments(unsigned (&a)[WM / 16][4], unsigned (&b)[WN / 16][4], unsigned tiles, int warp_row,
                               int warp_col, int kk)
{
    // Four blocks are 16 × 16 elements: lanes 0 … 15 give the left chunks of 16 rows, lanes 16 … 31 the right ones.
    int r = threadIdx.x % 16, c = threadIdx.x % 32 / 16;
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
        ldmatrix_x4(a[i], tiles + place<BK>(warp_row + i * 16 + r, kk / CHUNK + c));

    // B's rows run along n, but a lane needs two neighbours along k in a register.
#pragma unroll
    for (int j = 0; j < WN / 16; ++j)
        ldmatrix_x4_trans(b[j], tiles + A_BYTES + place<BN>(kk + r, (warp_col + j * 16) / CHUNK + c));
}

extern "C" __global__ void __launch_bounds__(THREADS)
    hgemm_mma(const half* A, const half* B, float* C, int m, int n, int k)
{
    // STAGES times a tile of A and, after it, a tile of B: a ring. Step s uses stage s % STAGES.
    extern __shared__ __align__(128) half ring[];
    unsigned stages = __cvta_generic_to_shared(ring);

    int row = blockIdx.y * BM, col = blockIdx.x * BN;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    int steps = (k + BK - 1) / BK;

    // Each step is one group of copies. Behind the last step groups are empty, so that counting them stays right.
    auto copy_step = [&](int step) {
        if (step < steps) {
            unsigned tiles = stages + step % STAGES * STAGE_BYTES;
            copy_tile<BM, BK>(tiles, A, row, step * BK, m, k);
            copy_tile<BK, BN>(tiles + A_BYTES, B, step * BK, col, k, n);
        }
        cp_async_commit();
    };

#pragma unroll 1
    for (int step = 0; step < STAGES - 1; ++step)
        copy_step(step);

    float sum[WM / 16][WN / 8][4] = {};

    // Two sets of fragments: the next one is loaded while this one is multiplied.
    unsigned a[2][WM / 16][4], b[2][WN / 16][4];

    // STAGES - 1 groups are in flight, and the oldest one is needed. The wait is for this thread's own copies only;
    // barrier: now everybody's have arrived.
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    load_fragments(a[0], b[0], stages, warp_row, warp_col, 0);

    unsigned tiles = stages;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            int now = kk / 16 % 2;

            // After the last fragments of this step come the first ones of the next step.
            if (kk + 16 == BK) {
                // The next step's group is the oldest that may be pending. Barrier: everybody's part of it is there;
                // and all warps have read the last of this step's tiles, which the next copies overwrite.
                cp_async_wait<STAGES - 2>();
                __syncthreads();

                // After the last step there is nothing to load: the old tiles are as good as any.
                if (step + 1 < steps)
                    tiles = stages + (step + 1) % STAGES * STAGE_BYTES;
            }
            load_fragments(a[1 - now], b[1 - now], tiles, warp_row, warp_col, (kk + 16) % BK);

            // Into the stage that was multiplied in the step before: the barrier at its end is behind us.
            if (kk == 0)
                copy_step(step + STAGES - 1);

#pragma unroll
            for (int i = 0; i < WM / 16; ++i)
#pragma unroll
                for (int j = 0; j < WN / 8; ++j)
                    mma_16816(sum[i][j], a[now][i], b[now][j / 2][j % 2 * 2], b[now][j / 2][j % 2 * 2 + 1]);
        }
    }

    // A lane holds two neighbours in row lane / 4 of each 16 × 8 elements, and two more 8 rows further down: 8 bytes a
    // lane, and 4 lanes fill a sector. Each 16 × 8 lies inside C or outside as a whole.
#pragma unroll
    for (int i = 0; i < WM / 16; ++i)
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) {
            int r = row + warp_row + i * 16 + lane / 4, c = col + warp_col + j * 8 + lane % 4 * 2;
            if (r < m && c < n) {
                *(float2*)&C[(size_t)r * n + c] = make_float2(sum[i][j][0], sum[i][j][1]);
                *(float2*)&C[(size_t)(r + 8) * n + c] = make_float2(sum[i][j][2], sum[i][j][3]);
            }
        }
}
