// expect: sim=technique gpu=slow
// Pieces of 32 elements: no worse in sectors than pieces of 8, because more than a sector for each lane there is not.

// launch calibrate(x, out, gain, offset, n): grid=cdiv(n, PER_THREAD*256) block=256

constexpr int PER_THREAD = 32;

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
    int step = 1;
    calibrate_some(x, out, gain, offset, n, first, step);
}
