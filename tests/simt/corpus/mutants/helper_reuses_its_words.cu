// expect: race
// line: 21
// kind: race
// A block sum is called twice: the second call writes words that a thread may still read for the first.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce(src, dst, m): grid=cdiv(m, 512) block=256

__device__ float warp_sum(float v)
{
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_down_sync(0xffffffff, v, s);
    return v;
}

__device__ float block_sum(float v)
{
    __shared__ float sums[8];
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = v;
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < 8; ++w)
        total += sums[w];
    return total;
}

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    int t = threadIdx.x;
    int i = blockIdx.x * 512 + t;
    float low = block_sum(i < m ? src[i] : 0.0f);
    float high = block_sum(i + 256 < m ? src[i + 256] : 0.0f);
    if (t == 0)
        dst[blockIdx.x] = low + high;
}
