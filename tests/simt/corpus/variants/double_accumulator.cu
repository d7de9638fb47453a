// expect: pass
// Partial sums in double, in shared memory and in shuffles.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ double partial[8];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    double sum = i < m ? (double)src[i] : 0.0;
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, s);
    if (t % 32 == 0)
        partial[t / 32] = sum;
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 8; ++w)
            sum += partial[w];
        dst[blockIdx.x] = (float)sum;
    }
}
