// expect: pass
// reduce_v5: the last warp finishes alone, and needs no barrier of the block for that.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce_v5(src, dst, m): grid=cdiv(m, 512) block=256 shared=256*4

// Adds up words 0 to 63. The lanes are not in lockstep by right: __syncwarp() keeps each step's reads before its
// writes, and its writes before the next step's reads. Lanes with t >= s add words that nobody needs any more.
__device__ void last_warp(float* partial, int t)
{
    for (int s = 32; s > 0; s /= 2) {
        float other = partial[t + s];
        __syncwarp();
        partial[t] += other;
        __syncwarp();
    }
}

extern "C" __global__ void reduce_v5(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * (2 * blockDim.x) + t;

    float sum = i < m ? src[i] : 0.0f;
    if (i + blockDim.x < m)
        sum += src[i + blockDim.x];
    partial[t] = sum;
    // Other threads' words are read from here on.
    __syncthreads();

    for (int s = blockDim.x / 2; s > 32; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        // The next step, or the last warp, reads sums of this one.
        __syncthreads();
    }

    if (t < 32)
        last_warp(partial, t);
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
