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
        __syncthreads();  // everybody is done with the last tile's shares and values
        copy_rows<BN>(k, STRIDE, K, first, n_k);
        copy_rows<BN>(v, D, V, first, n_k);
        __syncthreads();  // the tiles are complete, and before the first one Q is, too

        // 8 × 4 scores, four columns of Q and K at a time.
        float s[ROWS][KEYS] = {};
#pragma unroll 1
        for (int c = 0; c < D; c += 4) {
            float4 b[KEYS];
#pragma unroll
            for (int j = 0; j < KEYS; ++j)
                b[j] = *reinterpret_cast<const float4*>(&k[(tx + j * LANES) * STRIDE + c]);
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                float4 a = *reinterpret_cast<const float4*>(&q[(ty + r * GROUPS) * STRIDE + c]);
#pragma unroll
                for (int j = 0; j < KEYS; ++j)
                    s[r][j] += a.x * b[j].x + a.y * b[j].y + a.z * b[j].z + a.w * b[j].w;
            }
        }
        __syncthreads();  // everybody has read K: its place is free for the shares

#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            int last = min(n_k - 1, first_row + ty + r * GROUPS + reach);  // the last key that the row sees
            float top = largest[r];
#pragma unroll
            for (int j = 0; j < KEYS; ++j) {
                s[r][j] = first + tx + j * LANES <= last ? s[r][j] * scale : -INFINITY;
                top = fmaxf(top, s[r][j]);
            }
            top = row_max(top);

            // What has been added up so far is relative to the old maximum. A row that has seen no key yet has only
            // zeros: any finite number will do, and -infinity - -infinity would be NaN.
            float base = top == -INFINITY ? 0.0f : top;
            float shrink = __expf(largest[r] - base);
            largest[r] = top;
            sum[r] *= shrink;
#pragma unroll
            for (int c = 0; c < 4; ++c)
                out[r][c] *= shrink;

#pragma unroll
            for (int j = 0; j < KEYS; ++j) {
                float share = __expf(s[r][j] - base);
                sum[r] += share;
                p[(ty + r * GROUPS) * SHARES + tx + j * LANES] = share;
            }
        }
        __syncwarp();  // a row's 16 threads are half a warp: its shares are complete, no other warp reads them

        // O's rows, four keys at a time. A thread's columns are tx * 4 … tx * 4 + 3.
#pragma unroll 1
        for (int j = 0; j < BN; j += 4) {
            float4 b[4];
#pragma unroll
            for (int e = 0; e < 4; ++e)
                b[e] = *reinterpret_cast<const float4*>(&v[(j + e) * D + tx * 4]);
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                float4 a = *reinterpret_cast<const float4*>(&p[(ty + r * GROUPS) * SHARES + j]);
                out[r][0] += a.x * b[0].x + a.y * b[1].x + a.z * b[2].x + a.w * b[3].x;
                out[r][1] += a.x * b[0].y + a.y * b[1].y + a.z * b[2].y + a.w * b[3].y;
                out[r][2] += a.x * b[0].z + a.y * b[1].z + a.z * b[2].z + a.w * b[3].z;
                out[r][3] += a.x * b[0].w + a.y * b[1].w + a.z * b[2].w + a.w * b[3].w;
            }
        }
    }

#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float total = row_sum(sum[r]);
        float factor = total > 0.0f ? 1.0f / total : 0.0f;  // a row without a key gives zeros
        int row = first_row + ty + r * GROUPS;
        if (row < n_q)
            *reinterpret_cast<float4*>(&O[(size_t)row * D + tx * 4]) =
                make_float4(out[r][0] * factor, out[r][1] * factor, out[r][2] * factor, out[r][3] * factor);
    }
}
