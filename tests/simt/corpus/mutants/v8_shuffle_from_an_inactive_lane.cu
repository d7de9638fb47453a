// expect: race
// line: 17
// kind: inactive_lane
// Only the first 16 lanes of a warp take part, and they read from lanes that do not.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float sums[8];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    float sum = i < m ? src[i] : 0.0f;
    if (t % 32 < 16)
        for (int s = 16; s > 0; s /= 2)
            sum += __shfl_down_sync(0x0000ffff, sum, s);
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
