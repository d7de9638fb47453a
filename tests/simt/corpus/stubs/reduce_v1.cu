// expect: wrong
// reduce_v1: interleaved addressing, and a modulo that leaves a few working lanes in every warp.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce_v1(src, dst, m): grid=cdiv(m, 256) block=256 shared=256*4

extern "C" __global__ void reduce_v1(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;

    partial[t] = i < m ? src[i] : 0.0f;
    // YOUR CODE: the tree, with the test t % (2 * s).

    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
