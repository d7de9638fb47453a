// expect: pass
// Two neighbouring elements for each thread.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce(src, dst, m): grid=cdiv(m, 512) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = (blockIdx.x * 256 + t) * 2;
    float a = i < m ? src[i] : 0.0f;
    float b = i + 1 < m ? src[i + 1] : 0.0f;
    partial[t] = a + b;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
