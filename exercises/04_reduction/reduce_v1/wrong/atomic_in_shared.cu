// expect: sim=technique
// Every thread adds onto one word of shared memory: right, and no tree at all.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce_v1(src, dst, m): grid=cdiv(m, 256) block=256 shared=256*4

extern "C" __global__ void reduce_v1(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    if (t == 0)
        partial[0] = 0.0f;
    __syncthreads();
    atomicAdd(&partial[0], i < m ? src[i] : 0.0f);
    __syncthreads();
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
