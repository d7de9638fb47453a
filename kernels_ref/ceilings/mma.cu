// How fast is mma.sync m16n8k16, fp16 with fp32 accumulation, from registers? Eight independent accumulators a warp, one
// instruction on each in a round: 8 · 2 · 16 · 8 · 16 = 32768 operations a warp and round.

extern "C" __global__ void __launch_bounds__(256) mma_f16(long long rounds, float* sink)
{
    // Halves of either sign around one: fp16 bit patterns 0x3c00 to 0x3c7c and 0xbc00 to 0xbc7c. Sums stay small.
    unsigned int a[4], b[2];
#pragma unroll
    for (int j = 0; j < 4; ++j)
        a[j] = 0x3c00bc00u + (threadIdx.x & 31) * 0x00040004u + j;
#pragma unroll
    for (int j = 0; j < 2; ++j)
        b[j] = 0x3c003c00u + (threadIdx.x & 31) * 0x00040004u + j;
    float c[8][4] = {};
    for (long long round = 0; round < rounds; ++round)
#pragma unroll
        for (int j = 0; j < 8; ++j)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 8; ++j)
        sum += c[j][0] + c[j][1] + c[j][2] + c[j][3];
    if (sum == 12345.678f)  // keeps the accumulators alive; should it ever be, the store does no harm
        *sink = sum;
}

// The same for bytes: m16n8k32, int8 with int32 accumulation. 8 · 2 · 16 · 8 · 32 = 65536 operations a warp and round.
extern "C" __global__ void __launch_bounds__(256) mma_i8(long long rounds, int* sink)
{
    // Bytes of either sign. Sums that no longer fit into 32 bits wrap around, which takes no longer.
    unsigned int a[4], b[2];
#pragma unroll
    for (int j = 0; j < 4; ++j)
        a[j] = 0x3cbc40c0u + (threadIdx.x & 31) * 0x01020401u + j;
#pragma unroll
    for (int j = 0; j < 2; ++j)
        b[j] = 0x3cc040bcu + (threadIdx.x & 31) * 0x04010201u + j;
    int c[8][4] = {};
    for (long long round = 0; round < rounds; ++round)
#pragma unroll
        for (int j = 0; j < 8; ++j)
            asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+r"(c[j][0]), "+r"(c[j][1]), "+r"(c[j][2]), "+r"(c[j][3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    int all = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j)
        all ^= c[j][0] ^ c[j][1] ^ c[j][2] ^ c[j][3];
    if (all == 0x5eed5eed)  // keeps the accumulators alive; should it ever be, the store does no harm
        *sink = all;
}
