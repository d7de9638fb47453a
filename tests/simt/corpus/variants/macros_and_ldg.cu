// expect: pass
// #define for the sizes and the steps, __ldg, __restrict__, intrinsics.

// scratch ping, pong: float[cdiv(n, BLOCK * PER_THREAD)]
// passes m=n until 1 by cdiv(m, BLOCK*PER_THREAD): reduce(src, dst, m): grid=cdiv(m, BLOCK*PER_THREAD) block=BLOCK

#define BLOCK 128
#define PER_THREAD 4
#define STEP(s)                                          \
    if (t < (s))                                         \
        partial[t] = __fadd_rn(partial[t], partial[t + (s)]); \
    __syncthreads();

extern "C" __global__ void __launch_bounds__(BLOCK) reduce(const float* __restrict__ src, float* __restrict__ dst, int m)
{
    __shared__ float partial[BLOCK];
    int t = threadIdx.x;
    float sum = 0.f;
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        int i = (blockIdx.x * PER_THREAD + k) * BLOCK + t;
        if (i < m) sum = fmaf(__ldg(src + i), 1.f, sum);
    }
    partial[t] = sum;
    __syncthreads();
    STEP(64) STEP(32) STEP(16) STEP(8) STEP(4) STEP(2) STEP(1)
    if (t == 0) dst[blockIdx.x] = partial[0];
}
