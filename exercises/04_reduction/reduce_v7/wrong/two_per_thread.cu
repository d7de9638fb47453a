// expect: sim=technique
// reduce_v6: a block for every 512 elements, and each builds its tree.

constexpr int THREADS = 256;

// scratch ping, pong: float[cdiv(n, 2 * THREADS)]
// passes m=n until 1 by cdiv(m, 2 * THREADS): reduce_v7(src, dst, m): grid=cdiv(m, 2 * THREADS) block=THREADS

template <int BLOCK>
__device__ void reduce_block(const float* src, float* dst, int m)
{
    static_assert(BLOCK >= 64 && BLOCK <= 1024 && (BLOCK & (BLOCK - 1)) == 0, "a power of two, 64 to 1024");
    __shared__ float partial[BLOCK];
    int t = threadIdx.x;
    int i = blockIdx.x * (2 * BLOCK) + t;
    int j = i + BLOCK;
    float sum = i < m ? src[i] : 0.0f;
    if (j < m)
        sum += src[j];
    partial[t] = sum;
    __syncthreads();

#pragma unroll
    for (int s = BLOCK / 2; s > 32; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t < 32) {
#pragma unroll
        for (int s = 32; s > 0; s /= 2) {
            if (t < s)
                partial[t] += partial[t + s];
            __syncwarp();
        }
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}

extern "C" __global__ void reduce_v7(const float* src, float* dst, int m)
{
    reduce_block<THREADS>(src, dst, m);
}
