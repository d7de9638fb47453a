// expect: sim=pass gpu=slow
// Coalesced, but each element is loaded, awaited and stored before the next: one load in flight in a thread.

// launch calibrate(x, out, gain, offset, n): grid=cdiv(n, PER_THREAD*256) block=256

constexpr int PER_THREAD = 8;

extern "C" __global__ void calibrate(const float* x, float* out, float gain, float offset, int n)
{
    int first = blockIdx.x * blockDim.x * PER_THREAD + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < PER_THREAD; ++k) {
        int i = first + k * blockDim.x;
        if (i < n)
            out[i] = gain * x[i] + offset;
    }
}
