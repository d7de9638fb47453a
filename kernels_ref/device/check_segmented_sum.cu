// out[s] = the sum of x from offsets[s] to offsets[s + 1] - 1, in float64: one block of 256 threads a segment.

__device__ double segment_sum(const float* x, const int* offsets, long long s)
{
    double sum = 0.0;
#pragma unroll 8
    for (long long i = offsets[s] + (long long)threadIdx.x; i < offsets[s + 1]; i += 256)
        sum += (double)x[i];
    return block_sum(sum);
}

extern "C" __global__ void check_segments(const float* x, const int* offsets, const float* out, double relative,
                                          double absolute, Findings* findings)
{
    double expected = segment_sum(x, offsets, blockIdx.x);
    if (threadIdx.x != 0)
        return;
    Tally tally;
    tally.judge(out[blockIdx.x], expected, absolute + relative * fabs(expected), blockIdx.x);
    tally.merge(findings);
}

extern "C" __global__ void explain_segment(const float* x, const int* offsets, const Findings* findings,
                                           Explanation* explanation)
{
    double expected = segment_sum(x, offsets, findings->first);
    if (threadIdx.x == 0)
        *explanation = {(double)findings->first, expected};
}
