// expect: pass
// Shuffles in segments of 8 lanes, then one of every 8 lanes stores.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float sums[32];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    float v = i < m ? src[i] : 0.0f;
    v += __shfl_down_sync(0xffffffff, v, 4, 8);
    v += __shfl_down_sync(0xffffffff, v, 2, 8);
    v += __shfl_down_sync(0xffffffff, v, 1, 8);
    if (t % 8 == 0)
        sums[t / 8] = v;
    __syncthreads();
    if (t < 32) {
        v = sums[t];
        for (int s = 1; s < 32; s *= 2)
            v += __shfl_up_sync(0xffffffff, v, s) * (t >= s ? 1.0f : 0.0f);
        // An inclusive scan: the last lane holds the sum.
        if (t == 31)
            dst[blockIdx.x] = v;
    }
}
