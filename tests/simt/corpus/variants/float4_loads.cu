// expect: pass
// float4 loads where four elements are left, single ones at the end.

// scratch ping, pong: float[cdiv(n, 1024)]
// passes m=n until 1 by cdiv(m, 1024): reduce(src, dst, m): grid=cdiv(m, 1024) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    int i = (blockIdx.x * 256 + t) * 4;
    float sum = 0.0f;
    if (i + 3 < m) {
        float4 v = *reinterpret_cast<const float4*>(&src[i]);
        sum = (v.x + v.y) + (v.z + v.w);
    } else {
        for (int k = i; k < m; ++k)
            sum += src[k];
    }
    partial[t] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
