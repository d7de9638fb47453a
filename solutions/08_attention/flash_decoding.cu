// flash_decoding: attention of one new token for each sequence. Its keys and values are split over the whole GPU.
//
// k and v hold, for each sequence and KV head, `tokens` rows of 128 halves, of which the first lengths[seq] count. Each
// KV head serves `group` query heads, 1 to 8. A block takes a share of one KV head's rows, for all of these heads: each
// byte of k and v is read once. It leaves a maximum, a sum and 128 weighted sums for each head; combine() joins the shares.

#include <cuda_fp16.h>
#include <math.h>

#define D 128              // halves in a row
#define HEADS 8            // query heads that one product on the tensor cores has room for
#define TILE 16            // rows that a warp takes at a time
#define WARPS 4            // in a block
#define THREADS (32 * WARPS)
#define PLACES 3           // blocks of an SM: 12 warps, each with 4 to 8 KiB in flight
#define ROUNDS 8           // times that the blocks fill all places of the GPU, or a little less: no round is nearly empty
#define SHORTEST 256       // rows, the least that is worth a share of its own
#define PART (D + 4)       // floats that a share leaves for each head: 128 sums, maximum, sum, and two to keep 16 bytes
#define JOINING 4          // warps of a block of combine()

// Shares of a sequence's KV head: max(1, min(ROUNDS * PLACES * sm_count / (seqs * kv_heads), cdiv(tokens, SHORTEST))).
// scratch part: float[seqs * kv_heads * group * max(1, min(ROUNDS * PLACES * sm_count / (seqs * kv_heads), cdiv(tokens, SHORTEST))) * PART]
// launch flash_decoding(q, k, v, lengths, part, kv_heads, group, tokens): grid=(max(1, min(ROUNDS * PLACES * sm_count / (seqs * kv_heads), cdiv(tokens, SHORTEST))), kv_heads, seqs) block=THREADS
// launch combine(part, lengths, out, kv_heads * group, max(1, min(ROUNDS * PLACES * sm_count / (seqs * kv_heads), cdiv(tokens, SHORTEST)))): grid=seqs * kv_heads * group block=32*JOINING

// sum += a · b for a of 16 × 16 halves, b of 16 × 8, sum of 16 × 8 floats. Lane 4g + t holds, of two neighbours each:
// a0, a2: row g, columns 2t and 2t + 8; a1, a3: the same of row g + 8; b0, b1: column g, rows 2t and 2t + 8; sum[0], [1]:
// row g, columns 2t and 2t + 1; sum[2], [3]: the same of row g + 8.
__device__ void multiply(float (&sum)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// A row is 16 chunks of 16 bytes. Lane 4g + t takes chunks t, t + 4, t + 8 and t + 12 of rows g and g + 8: eight loads,
// each with 64 bytes of 8 rows. Past the end the last row stands in: what its score is does not matter.
__device__ void load_keys(uint4 (&to)[2][4], const uint4* keys, int first, int length, int g, int t)
{
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const uint4* row = keys + (size_t)min(first + 8 * r + g, length - 1) * (D / 8);
#pragma unroll
        for (int c = 0; c < 4; ++c)
            to[r][c] = __ldcs(row + 4 * c + t);
    }
}

// The lane's place in its tile of score i, 0 to 3: the columns of the sums that multiply() gives it.
__device__ int place(int i, int t) { return 2 * t + i % 2 + i / 2 * 8; }

// Lane 4g + t takes chunks g and g + 8 of the four rows whose weights it has: 128 bytes of 4 rows with each load.
__device__ void load_values(uint4 (&to)[4][2], const uint4* values, int first, int length, int g, int t)
{
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const uint4* row = values + (size_t)min(first + place(i, t), length - 1) * (D / 8);
#pragma unroll
        for (int c = 0; c < 2; ++c)
            to[i][c] = __ldcs(row + 8 * c + g);
    }
}

__device__ unsigned halves(float x, float y)
{
    half2 pair = __floats2half2_rn(x, y);
    return *reinterpret_cast<unsigned*>(&pair);
}

extern "C" __global__ void __launch_bounds__(THREADS, PLACES)
flash_decoding(const half* q, const half* k, const half* v, const int* lengths, float* part,
               int kv_heads, int group, int tokens)
{
    __shared__ float sums[WARPS][HEADS][D];
    __shared__ float largest[WARPS][HEADS], total[WARPS][HEADS];

    int pair = blockIdx.z * kv_heads + blockIdx.y;  // a sequence and a KV head
    int length = lengths[blockIdx.z];

    // The shares' rows take turns, a tile for each warp: blocks that run at the same time read neighbouring memory, and
    // shares of a sequence of any length are equally long.
    int start = blockIdx.x * WARPS * TILE;
    int step = gridDim.x * WARPS * TILE;
    if (start >= length)
        return;  // the whole block; combine() counts the shares in the same way

    int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const uint4* keys = reinterpret_cast<const uint4*>(k) + (size_t)pair * tokens * (D / 8);
    const uint4* values = reinterpret_cast<const uint4*>(v) + (size_t)pair * tokens * (D / 8);

    // The query of head g, chunks t, t + 4, …: the same of it as of a key. So both sides of a product have the same 16
    // of the 128 columns, and it does not matter which these are.
    uint4 query[4] = {};
    if (g < group) {
        const uint4* row = reinterpret_cast<const uint4*>(q) + ((size_t)pair * group + g) * (D / 8);
#pragma unroll
        for (int c = 0; c < 4; ++c)
            query[c] = row[4 * c + t];
    }

    // m and l belong to head g, l to this lane's rows only. o has heads 2t and 2t + 1, and 16 columns of each.
    float m = -INFINITY, l = 0.0f, o[8][4] = {};
    uint4 key[2][4], value[4][2];
    int first = start + warp * TILE;
    if (first < length) {
        load_keys(key, keys, first, length, g, t);
        load_values(value, values, first, length, g, t);
    }
    for (; first < length; first += step) {
        int next = first + step;

        // Scores of 8 heads and 2 × 8 rows; heads are rows 0 to 7 of a product, its rows 8 to 15 are empty.
        float s[2][4] = {};
#pragma unroll
        for (int c = 0; c < 4; ++c)
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                multiply(s[r], query[c].x, 0, query[c].y, 0, key[r][c].x, key[r][c].y);
                multiply(s[r], query[c].z, 0, query[c].w, 0, key[r][c].z, key[r][c].w);
            }

        // The registers of the keys are free: the next ones are on their way while this tile's values are weighted.
        if (next < length)
            load_keys(key, keys, next, length, g, t);

        // Four scores of head g, to base 2: 1 / sqrt(128) · log2(e). A row past the end gets the weight 0.
        float p[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            p[i] = first + place(i, t) < length ? s[i / 2][i % 2] * (0.08838834764f * 1.44269504f) : -INFINITY;
        float high = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[2], p[3]));
        high = fmaxf(high, __shfl_xor_sync(0xffffffff, high, 1));
        high = fmaxf(high, __shfl_xor_sync(0xffffffff, high, 2));

        // A larger maximum makes all that was added up so far smaller. It is rare after the first tiles. Heads 2t and
        // 2t + 1, which o has, are those of the lanes 8t and 8t + 4.
        if (__any_sync(0xffffffff, high > m)) {
            float larger = fmaxf(m, high);
            float fade = exp2f(m - larger);
            m = larger;
            l *= fade;
            float even = __shfl_sync(0xffffffff, fade, 8 * t), odd = __shfl_sync(0xffffffff, fade, 8 * t + 4);
#pragma unroll
            for (int n = 0; n < 8; ++n) {
                o[n][0] *= even;
                o[n][1] *= odd;
                o[n][2] *= even;
                o[n][3] *= odd;
            }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            p[i] = exp2f(p[i] - m);
            l += p[i];
        }

        // o += Vᵀ · Pᵀ. The weights are where multiply() wants its b: column g, rows place(0, t) to place(3, t). For a,
        // a register has one column of two rows: the lower halves of both, or the upper ones.
        unsigned b0 = halves(p[0], p[1]), b1 = halves(p[2], p[3]);
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            const unsigned* row[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                row[i] = reinterpret_cast<const unsigned*>(&value[i][c]);
#pragma unroll
            for (int j = 0; j < 4; ++j)
                multiply(o[4 * c + j],
                         __byte_perm(row[0][j], row[1][j], 0x5410), __byte_perm(row[0][j], row[1][j], 0x7632),
                         __byte_perm(row[2][j], row[3][j], 0x5410), __byte_perm(row[2][j], row[3][j], 0x7632), b0, b1);
        }
        if (next < length)
            load_values(value, values, next, length, g, t);
    }

    // What the warp has goes to shared memory. A warp without a tile has the maximum -infinity, and zeros.
    l += __shfl_xor_sync(0xffffffff, l, 1);
    l += __shfl_xor_sync(0xffffffff, l, 2);
    if (t == 0) {
        largest[warp][g] = m;
        total[warp][g] = l;
    }
#pragma unroll
    for (int n = 0; n < 8; ++n) {
        int d = (n / 4 * 8 + g) * 8 + n % 4 * 2;
        *reinterpret_cast<float2*>(&sums[warp][2 * t][d]) = make_float2(o[n][0], o[n][2]);
        *reinterpret_cast<float2*>(&sums[warp][2 * t + 1][d]) = make_float2(o[n][1], o[n][3]);
    }

    // Barrier: each thread reads what all warps have written.
    __syncthreads();

    // Warp 0 has the share's first tile, so the share's maximum is a number, and no difference is infinity - infinity.
    for (int i = threadIdx.x; i < group * D; i += THREADS) {
        int h = i / D, d = i % D;
        float high = -INFINITY, sum = 0.0f, all = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w)
            high = fmaxf(high, largest[w][h]);
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            float fade = exp2f(largest[w][h] - high);
            sum += fade * sums[w][h][d];
            all += fade * total[w][h];
        }
        float* mine = part + (((size_t)pair * group + h) * gridDim.x + blockIdx.x) * PART;
        mine[d] = sum;
        if (d == 0) {
            mine[D] = high;
            mine[D + 1] = all;
        }
    }
}

// One block for each sequence and query head: its warps divide the shares among them, a lane has four columns.
extern "C" __global__ void __launch_bounds__(32 * JOINING)
combine(const float* part, const int* lengths, half* out, int heads, int shares)
{
    __shared__ float sums[JOINING][D];
    __shared__ float largest[JOINING], total[JOINING];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int length = lengths[blockIdx.x / heads];
    int used = min((length + WARPS * TILE - 1) / (WARPS * TILE), shares);  // the others have written nothing
    const float* mine = part + (size_t)blockIdx.x * shares * PART;

    // Share by share, as above tile by tile: no load waits for a maximum over all shares.
    float m = -INFINITY, l = 0.0f;
    float4 sum = {};
#pragma unroll 4
    for (int i = warp; i < used; i += JOINING) {
        const float* share = mine + (size_t)i * PART;
        float4 x = *reinterpret_cast<const float4*>(share + 4 * lane);
        float larger = fmaxf(m, share[D]);
        float fade = exp2f(m - larger), weight = exp2f(share[D] - larger);
        m = larger;
        l = fade * l + weight * share[D + 1];
        sum.x = fade * sum.x + weight * x.x;
        sum.y = fade * sum.y + weight * x.y;
        sum.z = fade * sum.z + weight * x.z;
        sum.w = fade * sum.w + weight * x.w;
    }
    *reinterpret_cast<float4*>(&sums[warp][4 * lane]) = sum;
    if (lane == 0) {
        largest[warp] = m;
        total[warp] = l;
    }

    // Barrier: each thread reads what all warps have written.
    __syncthreads();

    // A sequence without tokens has no share; its result is zero, not 0 / 0.
    float high = largest[0], x = 0.0f, all = 0.0f;
    for (int w = 0; w < min(JOINING, used); ++w)
        high = fmaxf(high, largest[w]);
    for (int w = 0; w < min(JOINING, used); ++w) {
        float fade = exp2f(largest[w] - high);
        x += fade * sums[w][threadIdx.x];
        all += fade * total[w];
    }
    out[(size_t)blockIdx.x * D + threadIdx.x] = __float2half(used > 0 ? x / all : 0.0f);
}

static_assert(32 * JOINING == D, "combine() has a thread for each column");
