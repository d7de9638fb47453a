// expect: unsupported
// A recursive function walks the tree: a call stack.

// scratch ping, pong: float[cdiv(n, 64)]
// passes m=n until 1 by cdiv(m, 64): reduce(src, dst, m): grid=cdiv(m, 64) block=64

__device__ __noinline__ float tree(const float* words, int count)
{
    if (count == 1)
        return words[0];
    int half = count / 2;
    return tree(words, half) + tree(words + half, count - half);
}

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float words[64];
    int t = threadIdx.x;
    int i = blockIdx.x * 64 + t;
    words[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    if (t == 0)
        dst[blockIdx.x] = tree(words, 64);
}
