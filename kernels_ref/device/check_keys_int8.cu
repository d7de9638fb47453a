// Keys in 8 bits: a block of 128 threads, one for each channel, goes down the 64 tokens of a tile. The statement defines the
// steps in single precision, so q must be equal; the scale is compared in float64.

#include <cuda_fp16.h>

struct Tile {
    long long head, group, first, end;
    __device__ Tile(long long index, long long tokens)
    {
        long long groups = (tokens + 63) / 64;
        head = index / groups;
        group = index % groups;
        first = head * tokens + group * 64;
        end = head * tokens + min(tokens, group * 64 + 64);
    }
};

__device__ float largest(const __half* K, Tile tile, long long channel)
{
    float most = 0.0f;
    for (long long token = tile.first; token < tile.end; ++token)
        most = fmaxf(most, fabsf(__half2float(K[token * 128 + channel])));
    return most;
}

__device__ double steps(__half key, float most)
{
    return most > 0.0f ? rintf(__fmul_rn(__half2float(key), __fdiv_rn(127.0f, most))) : 0.0;
}

extern "C" __global__ void check_tiles(const __half* K, const signed char* q, const float* scales, long long batch,
                                       long long heads, long long tokens, double relative, double absolute,
                                       Findings* findings)
{
    Tally tally;
    Tile tile(blockIdx.x, tokens);
    float most = largest(K, tile, threadIdx.x);
    for (long long token = tile.first; token < tile.end; ++token) {
        long long at = token * 128 + threadIdx.x;
        tally.judge(q[at], steps(K[at], most), 0.0, at);
    }
    double scale = most / 127.0;
    long long at = blockIdx.x * 128ll + threadIdx.x;
    tally.judge(scales[at], scale, absolute + relative * scale, batch * heads * tokens * 128 + at);
    tally.merge(findings);
}

extern "C" __global__ void explain_tile(const __half* K, long long batch, long long heads, long long tokens,
                                        const Findings* findings, Explanation* explanation)
{
    long long index = findings->first, elements = batch * heads * tokens * 128, groups = (tokens + 63) / 64;
    if (index >= elements) {
        Tile tile((index - elements) / 128, tokens);
        *explanation = {(double)index, largest(K, tile, (index - elements) % 128) / 127.0};
        return;
    }
    long long token = index / 128;
    Tile tile(token / tokens * groups + token % tokens / 64, tokens);
    *explanation = {(double)index, steps(K[index], largest(K, tile, index % 128))};
}
