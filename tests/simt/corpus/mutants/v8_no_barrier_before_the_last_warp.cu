// expect: race
// line: 25
// kind: race
// The first warp reads the words of warps that may not have written them.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

__device__ float warp_sum(float v)
{
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_down_sync(0xffffffff, v, s);
    return v;
}

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float sums[8];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    float sum = warp_sum(i < m ? src[i] : 0.0f);
    if (t % 32 == 0)
        sums[t / 32] = sum;
    if (t < 32) {
        sum = warp_sum(t < 8 ? sums[t] : 0.0f);
        if (t == 0)
            dst[blockIdx.x] = sum;
    }
}
