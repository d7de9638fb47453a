// paged_attention: flash_decoding with keys and values in pages of 16 tokens, which lie anywhere in a pool.
//
// Page p of the pool holds, for each KV head, 16 rows of 128 halves: k[p][kv_head][16][128]. So a KV head's part of a page
// is 4 KiB in one piece, and a tile of a warp. Token i of sequence s is row i % 16 of page table[s][i / 16].

#include <cuda_fp16.h>
#include <math.h>

#define D 128              // halves in a row
#define HEADS 8            // query heads that one product on the tensor cores has room for
#define TILE 16            // rows of a page: what a warp takes at a time
#define WARPS 4            // in a block
#define THREADS (32 * WARPS)
#define PLACES 3           // blocks of an SM: 12 warps, each with 4 to 8 KiB in flight
#define ROUNDS 8           // times that the blocks fill all places of the GPU, or a little less: no round is nearly empty
#define SHORTEST 256       // rows, the least that is worth a share of its own
#define PART (D + 4)       // floats that a share leaves for each head: 128 sums, maximum, sum, and two to keep 16 bytes
#define JOINING 4          // warps of a block of combine()

// Shares of a sequence's KV head: max(1, min(ROUNDS * PLACES * sm_count / (seqs * kv_heads), cdiv(tokens, SHORTEST))).
// scratch part: float[seqs * kv_heads * group * max(1, min(ROUNDS * PLACES * sm_count / (seqs * kv_heads), cdiv(tokens, SHORTEST))) * PART]
// launch paged_attention(q, k, v, table, lengths, part, kv_heads, group, tokens): grid=(max(1, min(ROUNDS * PLACES * sm_count / (seqs * kv_heads), cdiv(tokens, SHORTEST))), kv_heads, seqs) block=THREADS
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

// The lane's place in its tile of score i, 0 to 3: the columns of the sums that multiply() gives it.
__device__ int place(int i, int t) { return 2 * t + i % 2 + i / 2 * 8; }

__device__ unsigned halves(float x, float y)
{
    half2 pair = __floats2half2_rn(x, y);
    return *reinterpret_cast<unsigned*>(&pair);
}

extern "C" __global__ void __launch_bounds__(THREADS, PLACES)
paged_attention(const half* q, const half* k, const half* v, const int* table, const int* lengths, float* part,
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
    // YOUR CODE: where a page lies: entry of the table · size of a page, in 64 bits
    // YOUR CODE: the scores of this share for all query heads of the KV head; a lane and load take 16 bytes of a key
    // YOUR CODE: for each head a maximum, a sum and 128 weighted sums, scaled down by every larger maximum
    // YOUR CODE: join what the warps have; head h of the pair goes to `part`, at the row
    // YOUR CODE: ((size_t)pair * group + h) * gridDim.x + blockIdx.x
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

    // YOUR CODE: the largest maximum of the shares; their sums, each times exp2f(its maximum - the largest one), added up
    // YOUR CODE: out is their quotient, or 0 where the sequence has no token
}

static_assert(32 * JOINING == D, "combine() has a thread for each column");
