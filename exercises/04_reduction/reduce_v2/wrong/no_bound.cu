// expect: sim=out_of_bounds
// Every thread adds in every step: words behind the end of the block are read and written.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce_v2(src, dst, m): grid=cdiv(m, 256) block=256 shared=256*4

extern "C" __global__ void reduce_v2(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        int k = 2 * s * t;
        partial[k] += partial[k + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
