// expect: pass
// The steps come from the bits of the block size: __clz, __ffs, __brev.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256 shared=1024

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + t;
    // The words lie in bit-reversed order, so that the tree's partners are neighbours in the input.
    int bits = 31 - __clz(blockDim.x);
    partial[__brev(t) >> (32 - bits)] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int b = __ffs(blockDim.x) - 2; b >= 0; --b) {
        unsigned s = 1u << b;
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
