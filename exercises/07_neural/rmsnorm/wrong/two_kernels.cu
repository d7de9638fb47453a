// expect: technique
// One kernel adds, another one normalises: h goes out to memory and comes back.

// launch add(x, residual, h, rows * cols / 4): grid=cdiv(rows * cols / 4, 256) block=256
// launch rmsnorm(h, weight, y, rows, cols, eps): grid=rows block=256

extern "C" __global__ void add(const float4* x, const float4* residual, float4* h, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 u = x[i], v = residual[i];
    h[i] = {u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w};
}

extern "C" __global__ void rmsnorm(const float4* h, const float4* weight, float4* y, int rows, int cols, float eps)
{
    __shared__ float of_warps[8];
    size_t start = (size_t)blockIdx.x * (cols / 4);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols / 4; i += 256) {
        float4 v = h[start + i];
        sum += (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
    }
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, s);
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < 8; ++w)
        sum += of_warps[w];
    float scale = rsqrtf(sum / cols + eps);
    for (int i = threadIdx.x; i < cols / 4; i += 256) {
        float4 v = h[start + i], w = weight[i];
        y[start + i] = {v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w};
    }
}
