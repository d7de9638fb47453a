// expect: technique
// A warp for each segment: most segments are short, and five shuffles add up a few elements.

// launch segmented_reduce(x, offsets, out, segments): grid=cdiv(segments, 8) block=256

extern "C" __global__ void segmented_reduce(const float* x, const int* offsets, float* out, int segments)
{
    int lane = threadIdx.x % 32, s = blockIdx.x * 8 + threadIdx.x / 32;
    if (s >= segments)
        return;
    float sum = 0.0f;
    for (int i = offsets[s] + lane; i < offsets[s + 1]; i += 32)
        sum += x[i];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0)
        out[s] = sum;
}
