// expect: sim=out_of_bounds gpu=wrong
// Only the first element is compared with m: the second one may lie behind the end.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce_v4(src, dst, m): grid=cdiv(m, 512) block=256 shared=256*4

extern "C" __global__ void reduce_v4(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * (2 * blockDim.x) + t;
    int j = i + blockDim.x;
    partial[t] = i < m ? src[i] + src[j] : 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
