// expect: race
// line: 21
// kind: order_dependent
// A fence that never runs, and a volatile pointer that is trusted to keep a warp in step.

// zero out
// launch reduce(x, out, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    if (m < 0)
        __threadfence();
    volatile float* words = partial;
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            words[t] += words[t + s];
        if (s > 32)
            __syncthreads();
    }
    if (t == 0)
        atomicAdd(dst, partial[0]);
}
