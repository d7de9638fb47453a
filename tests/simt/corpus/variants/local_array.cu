// expect: pass
// Eight elements for each thread, kept in an array with a computed index: local memory.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=32

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[32];
    float mine[8];
    int t = threadIdx.x;
    int first = blockIdx.x * 256 + t;
    for (int k = 0; k < 8; ++k) {
        int i = first + 32 * k;
        mine[(k + t) % 8] = i < m ? src[i] : 0.0f;
    }
    float sum = 0.0f;
    for (int k = 0; k < 8; ++k)
        sum += mine[(5 * k + t) % 8];
    partial[t] = sum;
    __syncwarp();
    for (int s = 16; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncwarp();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
