// total: out[0] is the sum of x, block by block until one number is left.

// scratch ping, pong: float[cdiv(n, BLOCK)]
// passes m=n until 1 by cdiv(m, BLOCK): total(src, dst, m): grid=cdiv(m, BLOCK) block=BLOCK

#define BLOCK 64

extern "C" __global__ void total(const float* in, float* out, int n)
{
    __shared__ float partial[BLOCK];
    int t = threadIdx.x;
    int i = blockIdx.x * BLOCK + t;
    // YOUR CODE
}
