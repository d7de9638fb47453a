// expect: wrong
// The warps agree on a computation, but the words have stayed where they were.

// launch divergence(x, out, n): grid=cdiv(n, 256) block=256

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
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        if (i / 32 % 2 == 0)
            out[i] = decode_a(x[i]);
        else
            out[i] = decode_b(x[i]);
    }
}
