// expect: sim=technique
// No tree over the block: every warp adds its sum to one address, and 8 times as many threads queue there.

// zero out
// launch reduce_v1(x, out, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void reduce_v1(const float* src, float* dst, int m)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < m ? src[i] : 0.0f;
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, s);
    if (threadIdx.x % 32 == 0)
        atomicAdd(dst, sum);
}
