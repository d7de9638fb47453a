// expect: race
// The barrier between two steps of the tree is missing.

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

    for (int s = BLOCK / 2; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        // no barrier here
    }
    if (t == 0)
        out[blockIdx.x] = partial[0];
}
