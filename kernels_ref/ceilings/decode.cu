// How fast are the computations of `divergence` from registers, when every warp has words of one sensor? A warp does either
// 20 steps of xorshift32, of 6 operations each, or 32 of a CRC-32, of 4: on average 124 operations a word and round.

__device__ unsigned xorshift_steps(unsigned word)
{
#pragma unroll
    for (int step = 0; step < 20; ++step) {
        word ^= word << 13;
        word ^= word >> 17;
        word ^= word << 5;
    }
    return word;
}

__device__ unsigned crc_steps(unsigned word)
{
#pragma unroll
    for (int step = 0; step < 32; ++step)
        word = word >> 1 ^ (word & 1 ? 0xEDB88320 : 0);
    return word;
}

extern "C" __global__ void __launch_bounds__(256) decode_u32(long long rounds, unsigned* sink)
{
    unsigned word = blockIdx.x * 256 + threadIdx.x + 1;
    for (long long round = 0; round < rounds; ++round)
        word = threadIdx.x / 32 % 2 ? crc_steps(word) : xorshift_steps(word);
    if (word == 0)  // both computations are one to one and keep 0, so it never is; it keeps the words alive
        *sink = word;
}
