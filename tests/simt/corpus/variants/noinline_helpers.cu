// expect: pass
// Functions that the compiler must not inline: real calls, with arguments and results.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

__device__ __noinline__ float load_or_zero(const float* src, int i, int m)
{
    return i < m ? src[i] : 0.0f;
}

__device__ __noinline__ float warp_sum(float v)
{
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_down_sync(0xffffffff, v, s);
    return v;
}

__device__ __noinline__ void store(float* dst, float v)
{
    *dst = v;
}

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float sums[8];
    int t = threadIdx.x;
    float v = warp_sum(load_or_zero(src, blockIdx.x * 256 + t, m));
    if (t % 32 == 0)
        store(&sums[t / 32], v);
    __syncthreads();
    if (t < 32) {
        v = warp_sum(load_or_zero(sums, t, 8));
        if (t == 0)
            store(dst + blockIdx.x, v);
    }
}
