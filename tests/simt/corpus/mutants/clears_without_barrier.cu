// expect: race
// line: 16
// kind: race
// Thread 0 clears the shared total, and the others may add before that.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float total;
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    if (t == 0)
        total = 0.0f;
    atomicAdd(&total, i < m ? src[i] : 0.0f);
    __syncthreads();
    if (t == 0)
        dst[blockIdx.x] = total;
}
