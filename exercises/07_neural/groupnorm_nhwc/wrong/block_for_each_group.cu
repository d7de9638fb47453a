// expect: technique
// A block for each group: of every pixel it takes 40 bytes, parts of two sectors or three, and it takes them three times.

#define BLOCK 256

// launch groupnorm_nhwc(x, gamma, beta, y, pixels, groups, width, eps): grid=(groups, samples) block=BLOCK

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

extern "C" __global__ void groupnorm_nhwc(const float* x, const float* gamma, const float* beta, float* y, int pixels,
                                          int groups, int width, float eps)
{
    int g = blockIdx.x, n = pixels * width;
    size_t start = (size_t)blockIdx.y * pixels * groups * width + g * width;
    auto place = [=](int i) { return start + (size_t)(i / width) * groups * width + i % width; };
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += BLOCK)
        sum += x[place(i)];
    float mean = block_sum(sum) / n;
    float square = 0.0f;
    for (int i = threadIdx.x; i < n; i += BLOCK)
        square += (x[place(i)] - mean) * (x[place(i)] - mean);
    float scale = rsqrtf(block_sum(square) / n + eps);
    for (int i = threadIdx.x; i < n; i += BLOCK)
        y[place(i)] = (x[place(i)] - mean) * scale * gamma[g * width + i % width] + beta[g * width + i % width];
}
