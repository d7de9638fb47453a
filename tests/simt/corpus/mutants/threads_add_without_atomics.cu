// expect: race
// line: 18
// kind: race
// All threads of a block add to one shared word.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float total;
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    if (t == 0)
        total = 0.0f;
    __syncthreads();
    if (i < m)
        total += src[i];
    __syncthreads();
    if (t == 0)
        dst[blockIdx.x] = total;
}
