// expect: sim=technique gpu=slow
// A thread for each segment: lanes read far from each other, and one thread has the longest segment.

// launch segmented_reduce(x, offsets, out, segments): grid=cdiv(segments, 256) block=256

extern "C" __global__ void segmented_reduce(const float* x, const int* offsets, float* out, int segments)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= segments)
        return;
    float sum = 0.0f;
    for (int i = offsets[s]; i < offsets[s + 1]; ++i)
        sum += x[i];
    out[s] = sum;
}
