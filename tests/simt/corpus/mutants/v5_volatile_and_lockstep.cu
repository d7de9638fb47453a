// expect: race
// line: 24
// kind: race
// The old idiom: a volatile pointer, and trust that 32 lanes run in lockstep.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int s = 128; s > 32; s /= 2) {
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
