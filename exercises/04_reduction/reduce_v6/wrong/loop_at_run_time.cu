// expect: sim=technique
// reduce_v5: the loop over the steps counts, compares and jumps, for every block, to the same end.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce_v6(src, dst, m): grid=cdiv(m, 512) block=256 shared=256*4

extern "C" __global__ void reduce_v6(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];

    int t = threadIdx.x;
    int i = blockIdx.x * (2 * blockDim.x) + t;
    int j = i + blockDim.x;
    float sum = i < m ? src[i] : 0.0f;
    if (j < m)
        sum += src[j];
    partial[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 32; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t < 32) {
#pragma unroll
        for (int s = 32; s > 0; s /= 2) {
            if (t < s)
                partial[t] += partial[t + s];
            __syncwarp();
        }
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
