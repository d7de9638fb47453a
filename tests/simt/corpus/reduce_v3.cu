// expect: pass
// reduce_v3: sequential addressing: no bank conflicts.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce_v3(src, dst, m): grid=cdiv(m, 256) block=256 shared=256*4

extern "C" __global__ void reduce_v3(const float* src, float* dst, int m)
{
    extern __shared__ float partial[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;

    partial[t] = i < m ? src[i] : 0.0f;
    // Other threads' words are read from here on.
    __syncthreads();

    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        // The upper half of what is left is added onto the lower half, word by word.
        if (t < s)
            partial[t] += partial[t + s];
        // The next step reads sums of this one.
        __syncthreads();
    }

    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
