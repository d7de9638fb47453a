// expect: pass
// A butterfly: every lane ends with the sum, so that no lane is special.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

__device__ float all_lanes(float v)
{
    for (int mask = 16; mask > 0; mask >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, mask);
    return v;
}

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float sums[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = all_lanes(i < m ? src[i] : 0.0f);
    // All lanes hold the same sum; one of them stores it.
    if ((threadIdx.x & 31) == 31)
        sums[threadIdx.x >> 5] = v;
    __syncthreads();
    v = all_lanes((threadIdx.x & 31) < blockDim.x / 32 ? sums[threadIdx.x & 31] : 0.0f);
    if (threadIdx.x == blockDim.x - 1)
        dst[blockIdx.x] = v;
}
