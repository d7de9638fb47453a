// expect: pass
// reduce_v4: the first addition happens during the load: a block of 256 threads takes 512 elements.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce_v4(src, dst, m): grid=cdiv(m, 512) block=256 shared=256*4

extern "C" __global__ void reduce_v4(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * (2 * blockDim.x) + t;

    // One element of each half of the block's share; either may lie past the end.
    float sum = i < m ? src[i] : 0.0f;
    if (i + blockDim.x < m)
        sum += src[i + blockDim.x];
    partial[t] = sum;
    // Other threads' words are read from here on.
    __syncthreads();

    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        // The next step reads sums of this one.
        __syncthreads();
    }

    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
