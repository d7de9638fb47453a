// expect: pass
// Divergence inside divergence: nested branches, break and continue.

// scratch ping, pong: float[cdiv(n, 1024)]
// passes m=n until 1 by cdiv(m, 1024): reduce(src, dst, m): grid=cdiv(m, 1024) block=64

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0;; ++k) {
        int i = blockIdx.x * 1024 + k * 64 + t;
        if (k == 16)
            break;
        if (i >= m)
            continue;
        if (t % 3 == 0) {
            if (k % 2 == 0)
                sum += src[i];
            else
                sum -= -src[i];
        } else {
            sum += src[i];
        }
    }
    partial[t] = sum;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
