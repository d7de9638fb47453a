// expect: pass
// Two buffers change roles, so that one barrier for each step is enough even with all threads adding.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float words[2][256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    int from = 0;
    words[0][t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        // Every thread writes: its word of the other buffer is not read before the barrier.
        words[1 - from][t] = words[from][t] + words[from][t ^ s];
        from = 1 - from;
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = words[from][0];
}
