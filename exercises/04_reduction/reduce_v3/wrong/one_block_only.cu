// expect: wrong
// One block, launched once: only the first 256 elements are added.

// launch reduce_v3(x, out, n): grid=1 block=256 shared=256*4

extern "C" __global__ void reduce_v3(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
