// expect: pass
// A block that is no power of two: the upper part is folded onto the lower, rounded up.

// scratch ping, pong: float[cdiv(n, 96)]
// passes m=n until 1 by cdiv(m, 96): reduce(src, dst, m): grid=cdiv(m, 96) block=96 shared=96*sizeof(float)

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int left = blockDim.x; left > 1;) {
        int half = (left + 1) / 2;
        if (t + half < left)
            partial[t] += partial[t + half];
        left = half;
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
