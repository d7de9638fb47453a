// attention_naive: O = softmax(Q · Kᵀ / √d) · V for each head, in three kernels; the scores S go through memory.
//
// Q and O are heads × n_q × d floats, K and V heads × n_k × d, S heads × n_q × n_k, all row after row.

#define TILE 16  // a block of the products computes TILE × TILE elements
#define ROWS 4   // rows of S in a block of the softmax: a warp for each

// scratch S: float[heads * n_q * n_k]
// launch scores(Q, K, S, n_q, n_k, d, causal): grid=(cdiv(n_k, TILE), cdiv(n_q, TILE), heads) block=(TILE, TILE)
// launch shares(S, heads * n_q, n_k): grid=cdiv(heads * n_q, ROWS) block=(32, ROWS)
// launch products(S, V, O, n_q, n_k, d): grid=(cdiv(d, TILE), cdiv(n_q, TILE), heads) block=(TILE, TILE)

#include <math.h>

// S[i][j] = (row i of Q) · (row j of K) / √d, or -infinity where query i must not see key j.
extern "C" __global__ void scores(const float* Q, const float* K, float* S, int n_q, int n_k, int d, int causal)
{
    int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x, head = blockIdx.z;
    if (i >= n_q || j >= n_k)
        return;
    const float* q = Q + ((size_t)head * n_q + i) * d;
    const float* k = K + ((size_t)head * n_k + j) * d;

    float sum = 0.0f;
    for (int c = 0; c < d; ++c)
        sum += q[c] * k[c];

    // The last query sees the last key, whatever the lengths: query i sees the keys up to i + n_k - n_q.
    bool hidden = causal && j > i + n_k - n_q;
    S[((size_t)head * n_q + i) * n_k + j] = hidden ? -INFINITY : sum * rsqrtf(d);
}

// The largest value of a warp, and the sum, in all lanes.
__device__ float warp_max(float v)
{
    for (int s = 16; s > 0; s /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, s));
    return v;
}

__device__ float warp_sum(float v)
{
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    return v;
}

// Each row of S becomes its softmax, in place: a warp walks over its row three times, as softmax_v1 does.
extern "C" __global__ void shares(float* S, int rows, int n_k)
{
    int r = blockIdx.x * ROWS + threadIdx.y;
    if (r >= rows)
        return;
    float* row = S + (size_t)r * n_k;

    float largest = -INFINITY;
    for (int j = threadIdx.x; j < n_k; j += 32)
        largest = fmaxf(largest, row[j]);
    largest = warp_max(largest);

    // A query that sees no key has -infinity everywhere: all its terms are 0, and so is what it adds up.
    if (largest == -INFINITY)
        largest = 0.0f;

    float sum = 0.0f;
    for (int j = threadIdx.x; j < n_k; j += 32)
        sum += expf(row[j] - largest);
    sum = warp_sum(sum);

    float factor = sum > 0.0f ? 1.0f / sum : 0.0f;
    for (int j = threadIdx.x; j < n_k; j += 32)
        row[j] = expf(row[j] - largest) * factor;
}

// O[i][c] = the sum of P[i][j] · V[j][c] over all keys j; P is S, with the shares in it. Neighbouring threads have
// neighbouring columns of V and O.
extern "C" __global__ void products(const float* P, const float* V, float* O, int n_q, int n_k, int d)
{
    int i = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x, head = blockIdx.z;
    if (i >= n_q || c >= d)
        return;
    const float* row = P + ((size_t)head * n_q + i) * n_k;
    const float* v = V + (size_t)head * n_k * d + c;

    float sum = 0.0f;
    for (int j = 0; j < n_k; ++j)
        sum += row[j] * v[(size_t)j * d];
    O[((size_t)head * n_q + i) * d + c] = sum;
}
