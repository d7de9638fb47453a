// expect: pass
// Every lane reads lane 0 to 31 in turn, with __shfl_sync and a changing index.

// scratch ping, pong: float[cdiv(n, 32)]
// passes m=n until 1 by cdiv(m, 32): reduce(src, dst, m): grid=cdiv(m, 32) block=32

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    int t = threadIdx.x;
    int i = blockIdx.x * 32 + t;
    float v = i < m ? src[i] : 0.0f;
    float sum = 0.0f;
    for (int lane = 0; lane < 32; ++lane)
        sum += __shfl_sync(0xffffffff, v, lane);
    if (t == 0)
        dst[blockIdx.x] = sum;
}
