// expect: pass
// A while loop, a do loop, shifts and compound assignments.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    unsigned int tid = threadIdx.x, stride = blockDim.x >> 1;
    unsigned int gid = blockIdx.x * blockDim.x + tid;
    partial[tid] = 0.f;
    if (gid < (unsigned int)m)
        partial[tid] += src[gid];
    __syncthreads();
    while (stride != 0) {
        if (tid < stride)
            partial[tid] = partial[tid] + partial[tid + stride];
        stride >>= 1;
        __syncthreads();
    }
    if (!tid) {
        unsigned int k = 0;
        do
            dst[blockIdx.x] = partial[k];
        while (++k < 1);
    }
}
