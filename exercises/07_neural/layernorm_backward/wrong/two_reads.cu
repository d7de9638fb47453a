// expect: sim=technique
// A kernel for the rows, and one for the columns: x and dy are read twice.

#define PACKS 2

// launch along_rows(x, dy, gamma, mean, rstd, dx, rows, cols): grid=rows block=32 * cdiv(cols, 128 * PACKS)
// launch down_columns(x, dy, mean, rstd, dgamma, dbeta, rows, cols): grid=cdiv(cols, 32) block=(32, 32)

__device__ float sum_of(float4 v) { return (v.x + v.y) + (v.z + v.w); }
__device__ float4 operator-(float4 v, float m) { return {v.x - m, v.y - m, v.z - m, v.w - m}; }
__device__ float4 operator*(float4 v, float s) { return {v.x * s, v.y * s, v.z * s, v.w * s}; }
__device__ float4 operator*(float4 u, float4 v) { return {u.x * v.x, u.y * v.y, u.z * v.z, u.w * v.w}; }
__device__ float4 operator-(float4 u, float4 v) { return {u.x - v.x, u.y - v.y, u.z - v.z, u.w - v.w}; }

__device__ float block_sum(float v, float* of_warps)
{
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x % 32 < blockDim.x / 32 ? of_warps[threadIdx.x % 32] : 0.0f;
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    return v;
}

extern "C" __global__ void __launch_bounds__(1024)
along_rows(const float4* x, const float4* dy, const float4* gamma, const float* mean, const float* rstd, float4* dx,
           int rows, int cols)
{
    __shared__ float first[32], second[32];
    int packs = cols / 4;
    size_t start = (size_t)blockIdx.x * packs;
    float m = mean[blockIdx.x], scale = rstd[blockIdx.x], of_g = 0.0f, of_products = 0.0f;
    float4 n[PACKS] = {}, g[PACKS] = {};
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
        if (int i = k * blockDim.x + threadIdx.x; i < packs) {
            n[k] = (x[start + i] - m) * scale;
            g[k] = dy[start + i] * gamma[i];
            of_g += sum_of(g[k]);
            of_products += sum_of(g[k] * n[k]);
        }
    of_g = block_sum(of_g, first) / cols;
    of_products = block_sum(of_products, second) / cols;
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
        if (int i = k * blockDim.x + threadIdx.x; i < packs)
            dx[start + i] = (g[k] - of_g - n[k] * of_products) * scale;
}

extern "C" __global__ void __launch_bounds__(1024)
down_columns(const float* x, const float* dy, const float* mean, const float* rstd, float* dgamma, float* dbeta,
             int rows, int cols)
{
    __shared__ float2 slices[32][32];
    int c = blockIdx.x * 32 + threadIdx.x;
    float2 sum = {0.0f, 0.0f};
    if (c < cols)
        for (int r = threadIdx.y; r < rows; r += 32) {
            float d = dy[(size_t)r * cols + c];
            sum.x += d * ((x[(size_t)r * cols + c] - mean[r]) * rstd[r]);
            sum.y += d;
        }
    slices[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || c >= cols)
        return;
    for (int s = 1; s < 32; ++s) {
        sum.x += slices[s][threadIdx.x].x;
        sum.y += slices[s][threadIdx.x].y;
    }
    dgamma[c] = sum.x;
    dbeta[c] = sum.y;
}
