// linear_attention: causal attention without a softmax, whose past is one matrix of 64 × 64 numbers for each head.
//
// One block walks through the tokens of a head in chunks of 64. The past of a chunk is the state S, the sum of k · vᵀ over
// all earlier tokens. Inside a chunk the scores of all pairs are computed, as in attention, and those of later keys are 0.
// All of it is products of 64 × 64 matrices, for tensor cores. Each of 4 warps has 16 rows of the output and of S.

// launch linear_attention(Q, K, V, O, n): grid=heads block=128

#include <cuda_fp16.h>

#define D 64      // numbers of a query, a key, a value
#define CHUNK 64  // tokens
#define PITCH 72  // halves from row to row of a tile: 8 rows of an ldmatrix lie in different banks

// ------------------------------------------------------------------------------------------ given: tiles and products

// Begins to copy `rows` rows into a tile, 16 bytes at a time; the rows of a tile that no token has become 0. The copies
// need no registers, so that all of a chunk's are in flight at once.
__device__ void load_tile(half* tile, const half* from, int rows)
{
#pragma unroll
    for (int i = threadIdx.x; i < CHUNK * D / 8; i += 128) {
        int r = i / (D / 8), c = i % (D / 8) * 8, bytes = r < rows ? 16 : 0;
        unsigned to = __cvta_generic_to_shared(tile + r * PITCH + c);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"(to), "l"(from + (r < rows ? r * D + c : 0)), "r"(bytes) : "memory");
    }
}

// Waits for the copies that this thread has begun.
__device__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// The 16 × 16 halves from `corner` on, as four 8 × 8 matrices: m[0] and m[1] are its left half, m[2] and m[3] its right.
__device__ void matrices(unsigned (&m)[4], const half* corner)
{
    int lane = threadIdx.x % 32;
    unsigned at = __cvta_generic_to_shared(corner + lane % 16 * PITCH + lane / 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(at) : "memory");
}

// The same with each of the four matrices transposed.
__device__ void transposed(unsigned (&m)[4], const half* corner)
{
    int lane = threadIdx.x % 32;
    unsigned at = __cvta_generic_to_shared(corner + lane % 16 * PITCH + lane / 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(at) : "memory");
}

// sum += a · b: a is 16 × 16, b 16 × 8 (b0 its rows 0 to 7, b1 its rows 8 to 15), sum 16 × 8. A lane has of sum the
// columns 2·(lane % 4) and the next, in row lane / 4 (sum[0], sum[1]) and in row lane / 4 + 8 (sum[2], sum[3]).
__device__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ unsigned pair(float low, float high)
{
    half2 both = __floats2half2_rn(low, high);
    return *(unsigned*)&both;
}

// Writes 16 rows of sums into a tile, as halves.
__device__ void store_rows(half* row, const float (&sums)[8][4])
{
    half* at = row + threadIdx.x % 32 / 4 * PITCH + threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        *(unsigned*)(at + 8 * j) = pair(sums[j][0], sums[j][1]);
        *(unsigned*)(at + 8 * PITCH + 8 * j) = pair(sums[j][2], sums[j][3]);
    }
}

// ----------------------------------------------------------------------------------------------------------- the step

extern "C" __global__ void __launch_bounds__(128) linear_attention(const half* Q, const half* K, const half* V, half* O, int n)
{
    __shared__ __align__(16) half q[CHUNK * PITCH], k[CHUNK * PITCH], v[CHUNK * PITCH], s[D * PITCH];
    int mine = threadIdx.x / 32 * 16, lane = threadIdx.x % 32;  // this warp's first row

    float state[8][4] = {};  // rows mine to mine + 15 of S, in fp32 from the first token to the last
    for (int first = 0; first < n; first += CHUNK) {
        int rows = min(CHUNK, n - first);
        size_t at = ((size_t)blockIdx.x * n + first) * D;
        load_tile(q, Q + at, rows);
        load_tile(k, K + at, rows);
        load_tile(v, V + at, rows);
        store_rows(s + mine * PITCH, state);
        wait_for_copies();
        __syncthreads();  // all threads' copies and all four parts of S are in place

        // What earlier chunks give: q · S. (Loops that are not unrolled keep the code a third as long.)
        float out[8][4] = {};
#pragma unroll 1
        for (int i = 0; i < D; i += 16) {
            unsigned a[4];
            matrices(a, q + mine * PITCH + i);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                unsigned b[4];
                transposed(b, s + i * PITCH + 16 * j);
                multiply(out[2 * j], a, b[0], b[1]);
                multiply(out[2 * j + 1], a, b[2], b[3]);
            }
        }

        // What this chunk gives: the scores of 16 keys at a time, up to the row's own, times their values.
        for (int t = 0; t <= mine; t += 16) {
            float scores[2][4] = {};
#pragma unroll 1
            for (int i = 0; i < D; i += 16) {
                unsigned a[4], b[4];
                matrices(a, q + mine * PITCH + i);
                matrices(b, k + t * PITCH + i);  // a row of k is a column of kᵀ: nothing is transposed
                multiply(scores[0], a, b[0], b[2]);
                multiply(scores[1], a, b[1], b[3]);
            }
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                int row = mine + lane / 4 + i % 4 / 2 * 8, key = t + i / 4 * 8 + lane % 4 * 2 + i % 2;
                if (key > row)
                    scores[i / 4][i % 4] = 0.0f;
            }
            unsigned p[4] = {pair(scores[0][0], scores[0][1]), pair(scores[0][2], scores[0][3]),
                             pair(scores[1][0], scores[1][1]), pair(scores[1][2], scores[1][3])};
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                unsigned b[4];
                transposed(b, v + t * PITCH + 16 * j);
                multiply(out[2 * j], p, b[0], b[1]);
                multiply(out[2 * j + 1], p, b[2], b[3]);
            }
        }

        // What this chunk leaves to the later ones: S += kᵀ · v, this warp's 16 rows.
#pragma unroll 1
        for (int t = 0; t < CHUNK; t += 16) {
            unsigned m[4];
            transposed(m, k + t * PITCH + mine);
            unsigned kt[4] = {m[0], m[2], m[1], m[3]};  // transposed as a whole: the two in the corners change places
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                unsigned b[4];
                transposed(b, v + t * PITCH + 16 * j);
                multiply(state[2 * j], kt, b[0], b[1]);
                multiply(state[2 * j + 1], kt, b[2], b[3]);
            }
        }

        // The output goes through this warp's own rows of q, so that 8 lanes store 128 bytes in one piece.
        store_rows(q + mine * PITCH, out);
        __syncwarp();  // the warp's rows are complete
#pragma unroll
        for (int i = lane; i < 16 * D / 8; i += 32) {
            int r = mine + i / (D / 8), c = i % (D / 8) * 8;
            if (r < rows)
                *(uint4*)(O + at + r * D + c) = *(const uint4*)(q + r * PITCH + c);
        }
        __syncthreads();  // all warps have used the tiles and S, which the next chunk overwrites
    }
}
