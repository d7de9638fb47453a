// expect: race
// line: 22
// kind: race
// One barrier of an unrolled tree was forgotten.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    if (t < 128)
        partial[t] += partial[t + 128];
    __syncthreads();
    if (t < 64)
        partial[t] += partial[t + 64];
    if (t < 32)
        partial[t] += partial[t + 32];
    __syncwarp();
    if (t == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 32; ++k)
            sum += partial[k];
        dst[blockIdx.x] = sum;
    }
}
