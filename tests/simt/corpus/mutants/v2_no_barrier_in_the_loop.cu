// expect: race
// line: 19
// kind: race
// A step reads sums that other threads may still be making.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        int k = 2 * s * t;
        if (k < blockDim.x)
            partial[k] += partial[k + s];
    }
    __syncthreads();
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
