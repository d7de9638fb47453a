// How fast are fp32 fused multiply-adds from registers? Eight independent chains a thread, 16 steps of each in a round:
// 2 · 8 · 16 = 256 operations a thread and round.

extern "C" __global__ void __launch_bounds__(256) fma_f32(float factor, float term, long long rounds, float* sink)
{
    float chain[8];
#pragma unroll
    for (int j = 0; j < 8; ++j)
        chain[j] = threadIdx.x + j;
    for (long long round = 0; round < rounds; ++round)
#pragma unroll
        for (int step = 0; step < 16; ++step)
#pragma unroll
            for (int j = 0; j < 8; ++j)
                chain[j] = fmaf(chain[j], factor, term);
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 8; ++j)
        sum += chain[j];
    if (sum == -1.0f)  // factor and term are positive, so it never is; it keeps the chains alive
        *sink = sum;
}
