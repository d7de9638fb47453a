// How fast is dp4a from registers? Eight independent sums a thread, 16 steps of each in a round. A step is four products
// and four additions: 8 · 8 · 16 = 1024 operations a thread and round.

extern "C" __global__ void __launch_bounds__(256) dp4a_i8(long long factors, long long rounds, int* sink)
{
    int four = (int)factors;  // four bytes, not known to the compiler
    int sum[8];
#pragma unroll
    for (int j = 0; j < 8; ++j)
        sum[j] = threadIdx.x + j;
    // Each sum is also a factor of its own next step, so that no two steps can be made one.
    for (long long round = 0; round < rounds; ++round)
#pragma unroll
        for (int step = 0; step < 16; ++step)
#pragma unroll
            for (int j = 0; j < 8; ++j)
                sum[j] = __dp4a(sum[j], four, sum[j]);
    int all = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j)
        all ^= sum[j];
    if (all == 0x5eed5eed)  // keeps the sums alive; should it ever be, the store does no harm
        *sink = all;
}
