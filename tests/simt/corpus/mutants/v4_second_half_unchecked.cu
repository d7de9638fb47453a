// expect: out_of_bounds
// line: 16
// kind: out_of_bounds
// Only the first of the two elements is checked against m.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce(src, dst, m): grid=cdiv(m, 512) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 512 + t;
    partial[t] = 0.0f;
    if (i < m)
        partial[t] = src[i] + src[i + 256];
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
