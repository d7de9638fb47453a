// expect: technique
// The differences from the mean lie in y for a while: they are stored, loaded and stored again.

#define BLOCK 256

// launch layernorm(x, gamma, beta, y, rows, cols, eps): grid=rows block=BLOCK

__device__ float block_sum(float v)
{
    __shared__ float of_warps[BLOCK / 32];
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0.0f;
    for (int w = 0; w < BLOCK / 32; ++w)
        v += of_warps[w];
    return v;
}

extern "C" __global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, int rows, int cols,
                                     float eps)
{
    x += (size_t)blockIdx.x * cols;
    y += (size_t)blockIdx.x * cols;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += BLOCK)
        sum += x[c];
    float mean = block_sum(sum) / cols;
    float square = 0.0f;
    for (int c = threadIdx.x; c < cols; c += BLOCK) {
        y[c] = x[c] - mean;
        square += y[c] * y[c];
    }
    float scale = rsqrtf(block_sum(square) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += BLOCK)
        y[c] = y[c] * scale * gamma[c] + beta[c];
}
