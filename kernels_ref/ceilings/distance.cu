// How fast are sums of distances from registers? Eight points a thread, 16 others one after another in a round: a
// difference and a sum for each pair, 2 · 8 · 16 = 256 operations a thread and round.

extern "C" __global__ void __launch_bounds__(256) distance_f32(float other, float step, long long rounds, float* sink)
{
    float point[8], sum[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        point[k] = threadIdx.x + k;
        sum[k] = 0.0f;
    }
    for (long long round = 0; round < rounds; ++round)
#pragma unroll
        for (int pair = 0; pair < 16; ++pair) {
#pragma unroll
            for (int k = 0; k < 8; ++k)
                sum[k] += fabsf(point[k] - other);
            other += step;
        }
    float all = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; ++k)
        all += sum[k];
    if (all == -1.0f)  // no sum of distances is negative; it keeps the sums alive
        *sink = all;
}
