// kv_cache_int8: the keys of a cache, from halves to 8-bit integers, with a scale for each channel and 64 tokens.
//
// A block takes 64 tokens of one head: 64 rows of 128 halves, 16 KiB. The scale of a channel depends on all 64 rows, and
// every element of the tile needs it. So the tile stays in registers, and is read once.

// launch kv_cache_int8(K, q, scales, tokens): grid=(cdiv(tokens, 64), batch * heads) block=256

#include <cuda_fp16.h>

#define CHANNELS 128
#define TOKENS 64                 // of a tile
#define WARPS 8                   // of a block; one of their requests has two rows
#define ROWS (TOKENS / 2 / WARPS) // rows of a thread, 2 * WARPS apart

// The larger of the two magnitudes, channel by channel, of eight channels. Halves compare without rounding.
__device__ uint4 largest(uint4 a, uint4 b)
{
    const half2* p = reinterpret_cast<const half2*>(&a);
    const half2* s = reinterpret_cast<const half2*>(&b);
    uint4 result;
    half2* r = reinterpret_cast<half2*>(&result);
#pragma unroll
    for (int j = 0; j < 4; ++j)
        r[j] = __hmax2(__habs2(p[j]), __habs2(s[j]));
    return result;
}

// The integer nearest to v · inverse, a tie to the even one, in the low byte: a float from 2^23 to 2^24 has no places after
// the point. __fmul_rn rounds the product, as the statement has it: the compiler would make one `fma` of both operations.
__device__ unsigned rounded(float v, float inverse)
{
    return __float_as_uint(__fmul_rn(v, inverse) + 12582912.0f);  // 1.5 · 2^23
}

// One word of four: byte 0 of two words and then of the two others, and of those pairs bytes 0, 1, 4 and 5.
__device__ unsigned low_bytes(unsigned a, unsigned b, unsigned c, unsigned d)
{
    return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

extern "C" __global__ void kv_cache_int8(const half* K, signed char* q, float* scales, int tokens)
{
    __shared__ uint4 of_warps[WARPS][CHANNELS / 8];
    __shared__ float4 inverses[CHANNELS / 4];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int column = lane % 16;  // sixteen lanes go along a row, with eight channels each

    size_t head = blockIdx.y;
    int first = blockIdx.x * TOKENS + 2 * warp + lane / 16;
    const uint4* k8 = reinterpret_cast<const uint4*>(K) + head * tokens * (CHANNELS / 8) + column;
    uint2* q8 = reinterpret_cast<uint2*>(q) + head * tokens * (CHANNELS / 8) + column;

    // The last tile may have fewer rows. Zeros do not change a largest magnitude.
    uint4 tile[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        int token = first + 2 * WARPS * r;
        tile[r] = token < tokens ? __ldcs(k8 + (size_t)token * (CHANNELS / 8)) : make_uint4(0, 0, 0, 0);
    }

    // The largest magnitude of each channel: over a thread's rows, the two rows of a request, and the warps.
    uint4 most = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        most = largest(most, tile[r]);
    uint4 other;
    other.x = __shfl_xor_sync(0xffffffff, most.x, 16);
    other.y = __shfl_xor_sync(0xffffffff, most.y, 16);
    other.z = __shfl_xor_sync(0xffffffff, most.z, 16);
    other.w = __shfl_xor_sync(0xffffffff, most.w, 16);
    most = largest(most, other);
    if (lane < 16)
        of_warps[warp][column] = most;
    __syncthreads();  // all warps' largest are there

    // A thread for each channel: its divisions are slow, and the block needs them once.
    if (threadIdx.x < CHANNELS) {
        const half* rows = reinterpret_cast<const half*>(of_warps);
        half m = rows[threadIdx.x];
#pragma unroll
        for (int w = 1; w < WARPS; ++w)
            m = __hmax(m, rows[w * CHANNELS + threadIdx.x]);

        // 127 steps on either side. A channel of zeros has the scale 0, and 127 / 0 would be infinite.
        float largest = __half2float(m);
        reinterpret_cast<float*>(inverses)[threadIdx.x] = largest > 0.0f ? 127.0f / largest : 0.0f;
        scales[(head * gridDim.x + blockIdx.x) * CHANNELS + threadIdx.x] = largest / 127.0f;
    }
    __syncthreads();  // the inverses are there
    float4 a = inverses[2 * column], b = inverses[2 * column + 1];

#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        int token = first + 2 * WARPS * r;
        const half2* pair = reinterpret_cast<const half2*>(&tile[r]);
        float2 v0 = __half22float2(pair[0]), v1 = __half22float2(pair[1]);
        float2 v2 = __half22float2(pair[2]), v3 = __half22float2(pair[3]);
        uint2 word;
        word.x = low_bytes(rounded(v0.x, a.x), rounded(v0.y, a.y), rounded(v1.x, a.z), rounded(v1.y, a.w));
        word.y = low_bytes(rounded(v2.x, b.x), rounded(v2.y, b.y), rounded(v3.x, b.z), rounded(v3.y, b.w));
        if (token < tokens)
            __stcs(q8 + (size_t)token * (CHANNELS / 8), word);
    }
}
