// expect: technique
// Blocks begin 256 elements apart and there are enough of them: most elements are done by eight threads each.

// launch calibrate(x, out, gain, offset, n): grid=cdiv(n, 256) block=256

constexpr int PER_THREAD = 8;

// One thread's work: the elements first, first + step, first + 2 * step, …, those that exist. All loads stand before
// the first store, so that they are under way together.
__device__ void calibrate_some(const float* x, float* out, float gain, float offset, int n, int first, int step)
{
    float value[PER_THREAD];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
        if (first + k * step < n)
            value[k] = x[first + k * step];
#pragma unroll
    for (int k = 0; k < PER_THREAD; ++k)
        if (first + k * step < n)
            out[first + k * step] = gain * value[k] + offset;
}

extern "C" __global__ void calibrate(const float* x, float* out, float gain, float offset, int n)
{
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    int step = blockDim.x;

    calibrate_some(x, out, gain, offset, n, first, step);
}
