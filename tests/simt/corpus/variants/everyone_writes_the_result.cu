// expect: pass
// kind: same_value_write
// All threads write the same sum to the same place: a warning, and still right.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    partial[t] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    dst[blockIdx.x] = partial[0];
}
