// expect: pass
// A forgotten printf in the first block.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

#include <stdio.h>

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0) {
        if (blockIdx.x == 0)
            printf("block %d of %d: sum = %g, %s\n", (int)blockIdx.x, (int)gridDim.x, partial[0], "done");
        dst[blockIdx.x] = partial[0];
    }
}
