// expect: pass
// Half of the block waits for the other half at a barrier of its own, with inline assembly.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < m ? src[i] : 0.0f;
    if (t >= 128) {
        // The upper half only says that it has stored, and need not wait.
        asm volatile("bar.arrive 1, 256;" ::: "memory");
        return;
    }
    asm volatile("bar.sync 1, 256;" ::: "memory");
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        asm volatile("bar.sync 2, 128;" ::: "memory");
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
