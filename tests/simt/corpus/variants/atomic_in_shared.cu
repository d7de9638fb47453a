// expect: pass
// Every warp adds its sum to a shared word.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float total;
    if (threadIdx.x == 0)
        total = 0.0f;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < m ? src[i] : 0.0f;
    for (int s = 16; s; s >>= 1)
        v += __shfl_down_sync(~0u, v, s);
    if (threadIdx.x % warpSize == 0)
        atomicAdd(&total, v);
    __syncthreads();
    if (threadIdx.x == 0)
        dst[blockIdx.x] = total;
}
