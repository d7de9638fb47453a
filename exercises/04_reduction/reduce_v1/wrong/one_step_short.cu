// expect: wrong
// The last step is missing: the loop ends before s is half of the block, and the upper half is lost.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce_v1(src, dst, m): grid=cdiv(m, 256) block=256 shared=256*4

extern "C" __global__ void reduce_v1(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int s = 1; s < blockDim.x / 2; s *= 2) {
        if (t % (2 * s) == 0)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
