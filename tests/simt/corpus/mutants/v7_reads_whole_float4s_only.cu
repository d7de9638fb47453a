// expect: out_of_bounds
// line: 15
// kind: out_of_bounds
// The last float4 is read even if only a part of it lies inside src.

// scratch ping, pong: float[cdiv(n, 1024)]
// passes m=n until 1 by cdiv(m, 1024): reduce(src, dst, m): grid=cdiv(m, 1024) block=256

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float partial[256];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * 256 + t; 4 * i < m; i += gridDim.x * 256) {
        float4 v = reinterpret_cast<const float4*>(src)[i];
        sum += v.x + v.y + v.z + v.w;
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
