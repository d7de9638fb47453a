// divergence: two sensors share one stream of words, and the words of each need a computation of their own.
//
// The sensors take turns: 8 words of A, 8 words of B, 8 of A, …, and one thread decodes one word, in so many rounds. As it
// comes, the file is right. A warp takes 32 neighbours, 16 words of each sensor: 16 lanes wait while the other 16 work,
// and then the other way round. Leave the computations alone, and change which thread takes which word.

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
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // Two warps share 64 words: the first takes the four runs of A among them, the second the four runs of B. Lanes 0–7
    // have one run, lanes 8–15 the next one of the same sensor, 16 words further. A run is a whole sector of 32 bytes.
    int group = i / 64;
    int warp = i / 32 % 2;
    int lane = i % 32;
    i = 64 * group + 16 * (lane / 8) + 8 * warp + lane % 8;

    if (i < n) {
        unsigned word = x[i];
        for (int round = 0; round < rounds; round++)
            if (i / 8 % 2 == 0)
                word = decode_a(word);
            else
                word = decode_b(word);
        out[i] = word;
    }
}
