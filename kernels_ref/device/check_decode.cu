// out = x, decoded in so many rounds: where index / 8 is even 20 steps of xorshift32 a round, else 32 steps of a CRC-32.

__device__ double decoded(const unsigned* x, long long index, long long rounds)
{
    unsigned word = x[index];
    for (long long round = 0; round < rounds; ++round)
        if (index / 8 % 2)
            for (int step = 0; step < 32; ++step)
                word = word >> 1 ^ 0xEDB88320 * (word & 1);
        else
            for (int step = 0; step < 20; ++step) {
                word ^= word << 13;
                word ^= word >> 17;
                word ^= word << 5;
            }
    return word;
}

extern "C" __global__ void check_decode(const unsigned* x, const unsigned* out, long long n, long long rounds,
                                        double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step)
        tally.judge(out[i], decoded(x, i, rounds), 0.0, i);  // words, not numbers: no tolerance
    tally.merge(findings);
}

extern "C" __global__ void explain_decode(const unsigned* x, long long rounds, const Findings* findings,
                                          Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, decoded(x, i, rounds)};
}
