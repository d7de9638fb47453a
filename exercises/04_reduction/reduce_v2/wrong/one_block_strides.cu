// expect: sim=pass gpu=slow
// One block walks through the whole array: right, and all multiprocessors but one have nothing to do.

// launch reduce_v2(x, out, n): grid=1 block=1024 shared=1024*4

extern "C" __global__ void reduce_v2(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < m; i += blockDim.x)
        sum += src[i];
    partial[t] = sum;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        int k = 2 * s * t;
        if (k < blockDim.x)
            partial[k] += partial[k + s];
        __syncthreads();
    }
    if (t == 0)
        dst[0] = partial[0];
}
