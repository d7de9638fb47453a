// Philox4x32-10, a counter-based generator: four random words are a function of a counter and a key, and of nothing else.
//
// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011); also cuRAND's and PyTorch's.

// Words 4·index to 4·index + 3 of the sequence that belongs to seed and offset.
__device__ __forceinline__ uint4 philox(unsigned int index, unsigned int seed, unsigned int offset)
{
    // Both halves of a product: one instruction, as a product of 64 bits two or three.
    const unsigned int A = 0xD2511F53, B = 0xCD9E8D57;
    uint4 c = {index, 0, offset, 0};
    unsigned int key0 = seed, key1 = 0;
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        c = {__umulhi(B, c.z) ^ c.y ^ key0, B * c.z, __umulhi(A, c.x) ^ c.w ^ key1, A * c.x};
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
    return c;
}
