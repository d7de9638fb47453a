// expect: sim=race
// The words change threads through shared memory, and are taken before their threads have brought them.

// launch divergence(x, out, n, rounds): grid=cdiv(n, 256) block=256

// The words of sensor A are scrambled: 20 steps of the generator xorshift32 unscramble one.
__device__ unsigned decode_a(unsigned word)
{
#pragma unroll
    for (int step = 0; step < 20; step++) {
        word ^= word << 13;
        word ^= word >> 17;
        word ^= word << 5;
    }
    return word;
}

// Of the words of sensor B we want the remainder that a CRC-32 is made of: one step for each of the 32 bits.
__device__ unsigned decode_b(unsigned word)
{
#pragma unroll
    for (int step = 0; step < 32; step++)
        word = word >> 1 ^ (word & 1 ? 0xEDB88320 : 0);
    return word;
}

extern "C" __global__ void divergence(const unsigned* x, unsigned* out, int n, int rounds)
{
    __shared__ unsigned words[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    if (i < n)
        words[t] = x[i];
    bool b = t >= 128;
    int word = 16 * (t % 128 / 8) + 8 * b + t % 8;
    if (blockIdx.x * 256 + word < n)
        for (int round = 0; round < rounds; round++)
            words[word] = b ? decode_b(words[word]) : decode_a(words[word]);
    __syncthreads();
    if (i < n)
        out[i] = words[t];
}
