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

    // YOUR CODE: the tile's rows, read once; the last tile of a head may have fewer. The largest magnitude of each channel,
    // YOUR CODE: over a thread's rows, those of the warp's other row, and those of the other warps. Then the scales, and the
    // YOUR CODE: steps: eight of them in a store.
}
