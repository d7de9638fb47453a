// gelu_bias_dropout: y = dropout(gelu(x + bias)), and a mask with one bit for each element: 1 where it is kept.
//
// A thread takes four neighbouring columns, in ROWS rows: one load of the bias, and for each pack of four one call of the
// generator.

// launch gelu_bias_dropout(x, bias, y, mask, rows, cols, seed, offset, p): grid=(cdiv(cols, 4*BLOCK), cdiv(rows, ROWS)) block=BLOCK

#include "load_kept.cuh"  // given: load_kept, with which memory reads and writes at once a little faster
#include "philox.cuh"

#define BLOCK 256
#define ROWS 2

// GELU with tanh: x / 2 · (1 + tanh(u)) with u = sqrt(2/π) · (x + 0.044715 x³).
//
// The same is x / (1 + exp(-2u)), with half as much work, and without the loss of digits in 1 + tanh(u) for negative x.
// For a very negative x the exponential is infinity, and the quotient -0.
__device__ float gelu(float x)
{
    float twice_u = x * (1.5957691216f + 0.0713548163f * x * x);
    return __fdividef(x, 1.0f + __expf(-twice_u));
}

extern "C" __global__ void __launch_bounds__(BLOCK) gelu_bias_dropout(const float* x, const float* bias, float* y,
                                                                      unsigned int* mask, int rows, int cols, int seed,
                                                                      int offset, float p)
{
    int c = blockIdx.x * BLOCK + threadIdx.x, packs = cols / 4;
    int first = blockIdx.y * ROWS;

    // All loads before the first use: random words, GELU and shuffles of one row run while the next one's values arrive.
    // Past the end the last pack or row is loaded again: a load behind an `if` begins late, after the first random words.
    bool inside = c < packs;
    int column = min(c, packs - 1);
    float4 b = reinterpret_cast<const float4*>(bias)[column], v[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        v[r] = load_kept(reinterpret_cast<const float4*>(x) + min(first + r, rows - 1) * packs + column);

    float scale = __fdividef(1.0f, 1.0f - p);
    unsigned int limit = p * 4294967296.0f;  // words are compared as integers: four conversions to float would cost more

#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        if (first + r >= rows)
            break;
        int i = (first + r) * packs + c;  // the number of the pack: the counter
        uint4 w = philox(i, seed, offset);
        bool keep[4] = {w.x >= limit, w.y >= limit, w.z >= limit, w.w >= limit};

        // GELU of all four, then the choice: `keep ? gelu(…) : 0` would be a branch for each of them, one after another.
        float4 out = {gelu(v[r].x + b.x), gelu(v[r].y + b.y), gelu(v[r].z + b.z), gelu(v[r].w + b.w)};
        out = {keep[0] ? out.x * scale : 0.0f, keep[1] ? out.y * scale : 0.0f, keep[2] ? out.z * scale : 0.0f,
               keep[3] ? out.w * scale : 0.0f};
        if (inside)
            reinterpret_cast<float4*>(y)[i] = out;

        // Four bits a lane, eight lanes a word: three exchanges, and one lane of eight stores it. Columns are a multiple
        // of 32, so eight lanes are inside together or not at all. Those outside have stayed for the sake of the mask: one
        // that is not a constant costs two slow instructions more in each row.
        unsigned int bits = (keep[0] | keep[1] << 1 | keep[2] << 2 | keep[3] << 3) << (threadIdx.x % 8 * 4);
#pragma unroll
        for (int s = 1; s < 8; s *= 2)
            bits |= __shfl_xor_sync(0xffffffff, bits, s);
        if (inside && threadIdx.x % 8 == 0)
            mask[i / 8] = bits;
    }
}
