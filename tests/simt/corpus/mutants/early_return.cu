// expect: wrong
// line: 20
// kind: uninitialised_read
// Threads past the end leave before they have stored a zero.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    if (i >= m)
        return;
    partial[t] = src[i];
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
