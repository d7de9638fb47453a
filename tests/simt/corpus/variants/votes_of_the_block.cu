// expect: pass
// __syncthreads_or and __syncthreads_count as barriers.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < m ? src[i] : 0.0f;
    int count = __syncthreads_count(i < m);
    for (int s = 128; s > 0; s /= 2) {
        if (t < s && s < count)
            partial[t] += partial[t + s];
        else if (t < s && t + s < count)
            partial[t] += partial[t + s];
        __syncthreads_or(t < s);
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
