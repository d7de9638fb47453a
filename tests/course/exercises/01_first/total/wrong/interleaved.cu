// expect: sim=technique
// The distance grows instead of shrinking: lanes use every second, fourth, … word, which share banks.

// scratch ping, pong: float[cdiv(n, BLOCK)]
// passes m=n until 1 by cdiv(m, BLOCK): total(src, dst, m): grid=cdiv(m, BLOCK) block=BLOCK

#define BLOCK 64

extern "C" __global__ void total(const float* in, float* out, int n)
{
    __shared__ float partial[BLOCK];
    int t = threadIdx.x;
    int i = blockIdx.x * BLOCK + t;
    partial[t] = i < n ? in[i] : 0.0f;
    __syncthreads();  // every thread's element is there before another thread adds it

    for (int s = 1; s < BLOCK; s *= 2) {
        int k = 2 * s * t;
        if (k < BLOCK)
            partial[k] += partial[k + s];
        __syncthreads();  // the sums of this step are there before the next step adds them
    }
    if (t == 0)
        out[blockIdx.x] = partial[0];
}
