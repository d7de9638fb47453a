// expect: wrong
// first belongs to pieces, step to a block that moves on as a whole: together they leave gaps.

// launch calibrate(x, out, gain, offset, n): grid=cdiv(n, PER_THREAD*256) block=256

constexpr int PER_THREAD = 8;

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
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * PER_THREAD;
    int step = blockDim.x;
    calibrate_some(x, out, gain, offset, n, first, step);
}
