// coalescing_stride: out[i] = gain * x[i] + offset, with PER_THREAD elements for each thread.
//
// A block has PER_THREAD * blockDim.x elements, one after the other. Which of them are whose is the question here.

// launch calibrate(x, out, gain, offset, n): grid=cdiv(n, PER_THREAD*256) block=256

constexpr int PER_THREAD = 8;

// One thread's work: the elements first, first + step, first + 2 * step, …, those that exist. All loads stand before
// the first store, so that they are in flight together.
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
    // In each round the block takes blockDim.x neighbouring elements, one for each thread: lane and element grow by one
    // together, so the 32 lanes of a warp share 4 sectors. Then the whole block moves on by its own width.
    int first = blockIdx.x * blockDim.x * PER_THREAD + threadIdx.x;
    int step = blockDim.x;

    calibrate_some(x, out, gain, offset, n, first, step);
}
