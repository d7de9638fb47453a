// flash_attention_v1: O = softmax(Q · Kᵀ / √d) · V for each head, in one kernel; the scores stay on the chip.
//
// A block has 64 query rows of one head. K and V come by in tiles of 64 keys. Each thread computes 8 × 4 scores of a
// tile, and 8 × 4 numbers of O, which it keeps in registers from the first tile to the last.

#define D 64                // the size of a head
#define BM (ROWS * GROUPS)  // query rows of a block
#define BN (KEYS * LANES)   // keys of a tile
#define THREADS 128         // 16 threads side by side, 8 one below the other
#define LANES 16            // threads that share a row
#define ROWS 8              // rows of a thread: ty, ty + 8, …
#define KEYS 4              // its keys of a tile: tx, tx + 16, …
#define GROUPS 8            // rows of threads: from one row of a thread to the next
#define STRIDE 68           // floats from a row of Q or K to the next: eight rows one below the other lie in different banks
#define SHARES 80           // floats from a row of shares to the next: two rows one below the other lie in different banks

// launch flash_attention_v1(Q, K, V, O, n_q, n_k, causal): grid=(cdiv(n_q, BM), heads) block=THREADS shared=4 * (BM * STRIDE + BN * SHARES + BN * D)

#include <math.h>

// The largest value of the 16 threads that share a row, and the sum, in all of them.
__device__ float row_max(float v)
{
    for (int s = LANES / 2; s > 0; s /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, s));
    return v;
}

__device__ float row_sum(float v)
{
    for (int s = LANES / 2; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    return v;
}

// Copies COUNT rows to a tile, from row `first` on; a row that does not exist becomes zeros. `stride` floats lie from one
// row of the tile to the next.
template <int COUNT>
__device__ void copy_rows(float* tile, int stride, const float* from, int first, int rows)
{
#pragma unroll 4
    for (int i = threadIdx.x; i < COUNT * D / 4; i += THREADS) {
        int r = i / (D / 4), c = i % (D / 4) * 4;
        float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (first + r < rows)
            v = *reinterpret_cast<const float4*>(&from[(size_t)(first + r) * D + c]);
        *reinterpret_cast<float4*>(&tile[r * stride + c]) = v;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
flash_attention_v1(const float* Q, const float* K, const float* V, float* O, int n_q, int n_k, int causal)
{
    // The tiles of Q, K and V. When the scores are in registers K is not needed any more: the shares take its place.
    extern __shared__ float4 tiles[];
    float* q = reinterpret_cast<float*>(tiles);
    float* k = q + BM * STRIDE;
    float* v = k + BN * SHARES;
    float* p = k;

    Q += (size_t)blockIdx.y * n_q * D;
    K += (size_t)blockIdx.y * n_k * D;
    V += (size_t)blockIdx.y * n_k * D;
    O += (size_t)blockIdx.y * n_q * D;
    int first_row = blockIdx.x * BM, tx = threadIdx.x % LANES, ty = threadIdx.x / LANES;
    int reach = causal ? n_k - n_q : n_k;  // row i sees the keys up to i + reach
    float scale = rsqrtf(D);

    copy_rows<BM>(q, STRIDE, Q, first_row, n_q);

    // Of each row: the largest score so far, the sum of exp(score - largest), and the sum of these times V's rows. A
    // thread adds up only its own keys' terms; the 16 threads' sums are added at the end.
    float largest[ROWS], sum[ROWS], out[ROWS][4] = {};
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        largest[r] = -INFINITY;
        sum[r] = 0.0f;
    }

    // Keys that no row of the block sees are left out.
    int end = min(n_k, first_row + BM + reach);
    for (int first = 0; first < end; first += BN) {
        // YOUR CODE: a barrier here?
        copy_rows<BN>(k, STRIDE, K, first, n_k);
        copy_rows<BN>(v, D, V, first, n_k);
        // YOUR CODE: a barrier here?

        // 8 × 4 scores, four columns of Q and K at a time.
        float s[ROWS][KEYS] = {};
        // YOUR CODE

        // YOUR CODE: bring largest[r], sum[r] and out[r] up to date for this tile, and store its shares in p. Some keys
        // YOUR CODE: must not be seen. Who may still be reading K?

        // O's rows, four keys at a time. A thread's columns are tx * 4 … tx * 4 + 3.
        // YOUR CODE
    }

#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float total = row_sum(sum[r]);
        // YOUR CODE: the factor of the row
        int row = first_row + ty + r * GROUPS;
        // YOUR CODE: store four numbers of O, if the row exists
    }
}
