// expect: race
// The code of 2007: a volatile pointer, and trust that the 32 lanes run in lockstep. Since Volta they need not.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce_v5(src, dst, m): grid=cdiv(m, 512) block=256 shared=256*4

extern "C" __global__ void reduce_v5(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * (2 * blockDim.x) + t;
    int j = i + blockDim.x;
    float sum = i < m ? src[i] : 0.0f;
    if (j < m)
        sum += src[j];
    partial[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 32; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t < 32) {
        volatile float* words = partial;
        words[t] += words[t + 32];
        words[t] += words[t + 16];
        words[t] += words[t + 8];
        words[t] += words[t + 4];
        words[t] += words[t + 2];
        words[t] += words[t + 1];
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
