// expect: wrong
// kind: wrong
// The shuffles start at 8: lanes 16 to 31 are never added.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

__device__ float warp_sum(float v)
{
    for (int s = 8; s > 0; s /= 2)
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
    __syncthreads();
    if (t == 0) {
        sum = 0.0f;
        for (int w = 0; w < 8; ++w)
            sum += sums[w];
        dst[blockIdx.x] = sum;
    }
}
