// flash_attention_v2: O = softmax(Q · Kᵀ / √d) · V for each head, halves in and out, on the tensor cores.
//
// A block has 128 query rows of one head, each of its 4 warps 32 of them. K and V come by in tiles of 64 keys. Scores,
// shares and O's sums stay in a warp's registers: no warp needs anything that another one computes.

#include "tensor_core.cuh"  // given: cp_async16 and its like, ldmatrix_x4, mma_16816, exp2_fast, pack

#define WARPS 4
#define BLOCKS 2                  // times 16 query rows of a warp: what it loads of K and V serves both
#define BM (WARPS * BLOCKS * 16)  // query rows of a block
#define BN 64                     // keys of a tile
#define STAGES 2                  // pairs of tiles in shared memory, or on their way there
#define THREADS (32 * WARPS)

// launch flash_attention_v2(Q, K, V, O, n_q, n_k, d, causal): grid=(cdiv(n_q, BM), heads) block=THREADS shared=2 * d * (BM + STAGES * 2 * BN)

#define NOTHING __int_as_float(0xff800000)  // -infinity: the largest of no scores
#define LAG 8.0f                            // powers of 2 by which a row's largest score may be out of date

// Byte at which chunk c of row r lies in a tile with rows of D halves; 8 halves are a chunk. XOR puts the chunks c of
// eight rows into eight different groups of four banks, as in hgemm_mma.
template <int D>
__device__ unsigned place(int r, int c)
{
    return (r * D + c * 8) * sizeof(half);  // YOUR CODE: chunk c of row r may lie elsewhere in this row
}

// Begins to copy ROWS rows to a tile, from row `first` on. A row that does not exist becomes zeros.
template <int D, int ROWS>
__device__ void copy_rows(unsigned tile, const half* from, int first, int rows)
{
    constexpr int IN_ROW = D / 8, ROUND = THREADS / IN_ROW;
    int r = threadIdx.x / IN_ROW, c = threadIdx.x % IN_ROW;
    unsigned to = tile + place<D>(r, c);  // ROUND is a multiple of 8, so that r & 7 is the same in all rounds
    const half* chunk = from + (size_t)(first + r) * D + c * 8;
#pragma unroll
    for (int i = 0; i < ROWS; i += ROUND)
        cp_async16(to + i * D * sizeof(half), chunk + i * D, first + r + i < rows);
}

template <int D>
__device__ void attend(const half* Q, const half* K, const half* V, half* O, int n_q, int n_k, int causal)
{
    constexpr unsigned ROW = D * sizeof(half), TILE = BN * ROW;

    // The tile of Q, then STAGES times a tile of K and a tile of V. They begin at multiples of 1024 bytes: XOR with a
    // multiple of 32 below 256 then moves an address by whole chunks within its row.
    extern __shared__ __align__(1024) half tiles[];
    unsigned q_tile = __cvta_generic_to_shared(tiles), ring = q_tile + BM * ROW;

    // The last rows first: with `causal` they have the most keys, and the short blocks fill the gaps at the end.
    int first_row = (gridDim.x - 1 - blockIdx.x) * BM;
    int reach = causal ? n_k - n_q : n_k;  // row i sees the keys up to i + reach
    Q += (size_t)blockIdx.y * n_q * D;
    K += (size_t)blockIdx.y * n_k * D;
    V += (size_t)blockIdx.y * n_k * D;
    O += (size_t)blockIdx.y * n_q * D;

    // Tiles with keys that some row of the block sees; there may be none.
    int steps = (max(min(n_k, first_row + BM + reach), 0) + BN - 1) / BN;
    auto copy_step = [&](int step) {
        unsigned stage = ring + step % STAGES * 2 * TILE;
        if (step < steps) {
            copy_rows<D, BN>(stage, K, step * BN, n_k);
            copy_rows<D, BN>(stage + TILE, V, step * BN, n_k);
        }
        cp_async_commit();  // a group for each step, so that counting stays right; the first one holds Q as well
    };
    copy_rows<D, BM>(q_tile, Q, first_row, n_q);
#pragma unroll
    for (int step = 0; step < STAGES - 1; ++step)
        copy_step(step);

    int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * BLOCKS * 16;
    // YOUR CODE: where do the lane's rows of the fragments of Q, K and V lie?

    // A lane has two rows of each 16, 8 apart (h), and two neighbouring columns of each 8 (e). `sum` is of its own columns.
    int row = first_row + warp_row + lane / 4, col = lane % 4 * 2;
    float out[BLOCKS][D / 8][4] = {}, largest[BLOCKS][2], sum[BLOCKS][2] = {};
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i)
        largest[i][0] = largest[i][1] = NOTHING;

    // exp(x) = 2^(x · log2(e)): the scale of the scores takes the factor along.
    const float scale = 1.44269504f * rsqrtf(D);

#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        // YOUR CODE: wait for this step's tiles, and begin to copy those of a later step. Who may still read their stage?

        // Scores: 32 rows × 64 keys of a warp, 16 columns of Q and K at a time.
        float s[BLOCKS][BN / 8][4] = {};
        // YOUR CODE

        // YOUR CODE: keys that a row must not see

        unsigned p[BLOCKS][BN / 16][4];
        // YOUR CODE: the online softmax of each of the lane's rows; the shares become fragments of A

        // O: 16 keys at a time, and 16 columns of V in each load.
        // YOUR CODE
    }

    // The sums of the four lanes that share a row become one. A row that sees no key has 0, and gives zeros.
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            // YOUR CODE: the factor of the row, from the sums of the four lanes that share it
            int to = row + i * 16 + h * 8;
            // YOUR CODE: if the row exists, store pairs of neighbours of O
        }
}

// Two blocks on a multiprocessor: while one computes shares, the other one multiplies.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
flash_attention_v2(const half* Q, const half* K, const half* V, half* O, int n_q, int n_k, int d, int causal)
{
    if (d == 64)
        attend<64>(Q, K, V, O, n_q, n_k, causal);
    else
        attend<128>(Q, K, V, O, n_q, n_k, causal);
}
