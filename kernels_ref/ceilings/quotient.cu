// How fast are quotients with their sums? A reciprocal and four multiply-adds are nine operations. The special-function unit
// gives 16 reciprocals in a clock, and the same clock has 128 multiply-adds: it is the limit. Eight independent chains a
// thread, 4 steps of each in a round: 9 · 8 · 4 = 288 operations a thread and round.

extern "C" __global__ void __launch_bounds__(256) quotient_f32(float factor, float term, long long rounds, float* sink)
{
    float chain[8];
#pragma unroll
    for (int j = 0; j < 8; ++j)
        chain[j] = threadIdx.x + j + 1;
    for (long long round = 0; round < rounds; ++round)
#pragma unroll
        for (int step = 0; step < 4; ++step)
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(chain[j]));
#pragma unroll
                for (int add = 0; add < 4; ++add)
                    chain[j] = fmaf(chain[j], factor, term);
            }
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 8; ++j)
        sum += chain[j];
    if (sum == -1.0f)  // factor and term are positive, so it never is; it keeps the chains alive
        *sink = sum;
}
