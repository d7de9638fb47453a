// expect: out_of_bounds
// Only the first of the eight elements is compared with n.

// launch calibrate(x, out, gain, offset, n): grid=cdiv(n, PER_THREAD*256) block=256

constexpr int PER_THREAD = 8;

extern "C" __global__ void calibrate(const float* x, float* out, float gain, float offset, int n)
{
    int first = blockIdx.x * blockDim.x * PER_THREAD + threadIdx.x;
    int step = blockDim.x;
    if (first < n)
        for (int k = 0; k < PER_THREAD; ++k)
            out[first + k * step] = gain * x[first + k * step] + offset;
}
