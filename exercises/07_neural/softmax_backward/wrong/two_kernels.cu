// expect: technique
// A kernel for the sums of products, and one for the result: both rows are read twice.

// scratch s: float[rows]
// launch sums(y, dy, s, rows, cols): grid=rows block=256
// launch results(y, dy, s, dx, rows, cols): grid=rows block=256

extern "C" __global__ void sums(const float4* y, const float4* dy, float* s, int rows, int cols)
{
    __shared__ float of_warps[8];
    float v = 0.0f;
    for (int i = threadIdx.x; i < cols / 4; i += 256) {
        float4 a = y[(size_t)blockIdx.x * (cols / 4) + i];
        float4 b = dy[(size_t)blockIdx.x * (cols / 4) + i];
        v += (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w);
    }
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w)
            v += of_warps[w];
        s[blockIdx.x] = v;
    }
}

extern "C" __global__ void results(const float4* y, const float4* dy, const float* s, float4* dx, int rows, int cols)
{
    float sum = s[blockIdx.x];
    for (int i = threadIdx.x; i < cols / 4; i += 256) {
        size_t at = (size_t)blockIdx.x * (cols / 4) + i;
        float4 a = y[at], b = dy[at];
        dx[at] = {a.x * (b.x - sum), a.y * (b.y - sum), a.z * (b.z - sum), a.w * (b.w - sum)};
    }
}
