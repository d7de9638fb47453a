// expect: pass
// The kernel is a template over type and block size; the entry calls it.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

template <typename T, int BLOCK>
__device__ void block_reduce(const T* __restrict__ src, T* __restrict__ dst, int m)
{
    __shared__ T partial[BLOCK];
    const int t = threadIdx.x;
    const int i = blockIdx.x * BLOCK + t;
    partial[t] = i < m ? src[i] : T(0);
    __syncthreads();
#pragma unroll
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    block_reduce<float, 256>(src, dst, m);
}
