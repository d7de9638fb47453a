// expect: pass
// A switch that falls through its cases: a tree of branches into one straight piece of code.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=32

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int first = blockIdx.x * 256 + 8 * t;
    float sum = 0.0f;
    int left = m - first;
    switch (left >= 8 ? 8 : left) {
    case 8: sum += src[first + 7];
    case 7: sum += src[first + 6] * 1.0f;
    case 6: sum += src[first + 5];
    case 5: sum += src[first + 4];
    case 4: sum += src[first + 3];
    case 3: sum += src[first + 2];
    case 2: sum += src[first + 1];
    case 1: sum += src[first];
    default: break;
    }
    partial[t] = sum;
    __syncthreads();
    if (t >= 16)
        return;
    partial[t] += partial[t + 16];
    for (int s = 8; s > 0; s /= 2) {
        __syncwarp(0xffff);
        float other = t < s ? partial[t + s] : 0.0f;
        __syncwarp(0xffff);
        partial[t] += other;
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
