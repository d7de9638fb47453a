// expect: pass
// Shared memory in float4s: 16-byte stores and loads.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=64

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float4 partial[64];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + 4 * t;
    float4 v;
    v.x = i < m ? src[i] : 0.0f;
    v.y = i + 1 < m ? src[i + 1] : 0.0f;
    v.z = i + 2 < m ? src[i + 2] : 0.0f;
    v.w = i + 3 < m ? src[i + 3] : 0.0f;
    partial[t] = v;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (t < s) {
            float4 a = partial[t], b = partial[t + s];
            partial[t] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
        }
        __syncthreads();
    }
    if (t == 0)
        dst[blockIdx.x] = (partial[0].x + partial[0].y) + (partial[0].z + partial[0].w);
}
