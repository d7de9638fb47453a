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
    return (r * D + (c ^ (r & 7)) * 8) * sizeof(half);
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

    // Where the lane's rows of the fragments lie. Q is A, 16 × 16: rows one below the other, then the chunk beside them.
    // K's rows run along d, and so do the pairs of B that a lane needs: chunk beside chunk, then 8 keys further down.
    // V's rows run along d, but pairs have to run along the keys: ldmatrix transposes, and rows come as in A.
    int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * BLOCKS * 16;
    unsigned q_at = q_tile + place<D>(warp_row + lane % 16, lane / 16);
    unsigned k_at = place<D>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
    unsigned v_at = place<D>(lane % 16, lane / 16);

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
        // The wait is for this thread's own copies. Barrier: everybody's part of this step's tiles is there, and all
        // warps are done with the step before, whose stage is filled next.
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        copy_step(step + STAGES - 1);
        unsigned k_tile = ring + step % STAGES * 2 * TILE + k_at, v_tile = ring + step % STAGES * 2 * TILE + TILE + v_at;

        // Scores: 32 rows × 64 keys of a warp, 16 columns of Q and K at a time.
        float s[BLOCKS][BN / 8][4] = {};
#pragma unroll 1
        for (int c = 0; c < D * 2; c += 32) {
            unsigned q[BLOCKS][4], k[4];
#pragma unroll
            for (int i = 0; i < BLOCKS; ++i)
                ldmatrix_x4(q[i], (q_at ^ c) + i * 16 * ROW);
#pragma unroll
            for (int j = 0; j < BN / 16; ++j) {
                ldmatrix_x4(k, (k_tile ^ c) + j * 16 * ROW);
#pragma unroll
                for (int i = 0; i < BLOCKS; ++i) {
                    mma_16816(s[i][2 * j], q[i], k[0], k[1]);
                    mma_16816(s[i][2 * j + 1], q[i], k[2], k[3]);
                }
            }
        }

        // Only a row's last tiles have keys that it must not see.
        int first_key = step * BN;
        if (first_key + BN - 1 > min(n_k - 1, first_row + warp_row + reach)) {
#pragma unroll
            for (int i = 0; i < BLOCKS; ++i)
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    int last = min(n_k - 1, row + i * 16 + h * 8 + reach) - first_key - col;
#pragma unroll
                    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
                        for (int e = 0; e < 2; ++e)
                            if (j * 8 + e > last)
                                s[i][j][2 * h + e] = NOTHING;
                }
        }

        unsigned p[BLOCKS][BN / 16][4];
#pragma unroll
        for (int i = 0; i < BLOCKS; ++i)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                // The largest score of the row: of the lane's own, then of the four lanes that share the row.
                float top = largest[i][h];
#pragma unroll
                for (int j = 0; j < BN / 8; ++j)
                    top = fmaxf(top, fmaxf(s[i][j][2 * h], s[i][j][2 * h + 1]));
                top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 1));
                top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 2));

                // Any number near the largest will do, as long as all sums are relative to the same one: so what has
                // been added up is rescaled only where a share would pass 2^LAG. All lanes take the branch together.
                if (__any_sync(0xffffffff, (top - largest[i][h]) * scale > LAG)) {
                    float shrink = top == NOTHING ? 0.0f : exp2_fast((largest[i][h] - top) * scale);
                    largest[i][h] = top;
                    sum[i][h] *= shrink;
#pragma unroll
                    for (int j = 0; j < D / 8; ++j) {
                        out[i][j][2 * h] *= shrink;
                        out[i][j][2 * h + 1] *= shrink;
                    }
                }

                // Sums of a row that has seen no key are 0 relative to any number; -infinity - -infinity is NaN.
                float base = largest[i][h] == NOTHING ? 0.0f : largest[i][h] * scale;
#pragma unroll
                for (int j = 0; j < BN / 8; ++j) {
                    float a = exp2_fast(s[i][j][2 * h] * scale - base);
                    float b = exp2_fast(s[i][j][2 * h + 1] * scale - base);
                    sum[i][h] += a + b;

                    // The sums of 16 × 8 lie as the halves of A do: two of them, side by side, are a fragment.
                    p[i][j / 2][j % 2 * 2 + h] = pack(a, b);
                }
            }

        // O: 16 keys at a time, and 16 columns of V in each load.
#pragma unroll
        for (int k = 0; k < BN / 16; ++k)
#pragma unroll
            for (int j = 0; j < D / 16; ++j) {
                unsigned v[4];
                ldmatrix_x4_trans(v, (v_tile ^ j * 32) + k * 16 * ROW);
#pragma unroll
                for (int i = 0; i < BLOCKS; ++i) {
                    mma_16816(out[i][2 * j], p[i][k], v[0], v[1]);
                    mma_16816(out[i][2 * j + 1], p[i][k], v[2], v[3]);
                }
            }
    }

    // The sums of the four lanes that share a row become one. A row that sees no key has 0, and gives zeros.
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float total = sum[i][h];
            total += __shfl_xor_sync(0xffffffff, total, 1);
            total += __shfl_xor_sync(0xffffffff, total, 2);
            float factor = total > 0.0f ? 1.0f / total : 0.0f;
            int to = row + i * 16 + h * 8;
            if (to < n_q)
#pragma unroll
                for (int j = 0; j < D / 8; ++j)
                    *reinterpret_cast<unsigned*>(&O[(size_t)to * D + j * 8 + col]) =
                        pack(out[i][j][2 * h] * factor, out[i][j][2 * h + 1] * factor);
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
