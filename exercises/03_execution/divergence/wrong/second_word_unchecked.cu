// expect: out_of_bounds
// A thread has a word of A and one of B, but only the first is compared with n.

// launch divergence(x, out, n): grid=cdiv(n, 512) block=256

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

extern "C" __global__ void divergence(const unsigned* x, unsigned* out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 16 * (t / 8) + t % 8;
    if (i < n) {
        out[i] = decode_a(x[i]);
        out[i + 8] = decode_b(x[i + 8]);
    }
}
