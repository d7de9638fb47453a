// expect: race
// line: 17
// kind: race
// The first step may read a word that its thread has not stored yet.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce(src, dst, m): grid=cdiv(m, 512) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 512 + t;
    partial[t] = (i < m ? src[i] : 0.0f) + (i + 256 < m ? src[i + 256] : 0.0f);
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
