// expect: wrong
// reduce_v2: interleaved addressing with a strided index: whole warps work or rest, but they meet in the banks.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce_v2(src, dst, m): grid=cdiv(m, 256) block=256 shared=256*4

extern "C" __global__ void reduce_v2(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;

    partial[t] = i < m ? src[i] : 0.0f;
    // YOUR CODE: the tree, with the first threads of the block on words 2 * s * t.

    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
