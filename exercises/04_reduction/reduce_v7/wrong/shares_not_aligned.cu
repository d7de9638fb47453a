// expect: crash
// Each block takes a run of m / gridDim.x elements, which seldom begins at a multiple of 16 bytes.

constexpr int THREADS = 1024;
#define BLOCKS 4096

// scratch sums: float[BLOCKS]
// launch reduce_v7(x, sums, n): grid=min(cdiv(n, 16 * THREADS), BLOCKS) block=THREADS
// launch reduce_v7(sums, out, min(cdiv(n, 16 * THREADS), BLOCKS)): grid=1 block=THREADS

template <int BLOCK>
__device__ void add_up(float* partial, int t)
{
    __syncthreads();

#pragma unroll
    for (int s = BLOCK / 2; s > 32; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t < 32) {
#pragma unroll
        for (int s = 32; s > 0; s /= 2) {
            if (t < s)
                partial[t] += partial[t + s];
            __syncwarp();
        }
    }
}

__device__ float sum_of(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) reduce_v7(const float* src, float* dst, int m)
{
    __shared__ float partial[THREADS];
    int t = threadIdx.x;
    int each = (m + gridDim.x - 1) / gridDim.x;
    int first = blockIdx.x * each;
    int count = max(0, min(each, m - first));
    const float4* share4 = reinterpret_cast<const float4*>(src + first);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count / 4; i += THREADS)
        sum += sum_of(share4[i]);
    int last = count / 4 * 4 + threadIdx.x;
    if (last < count)
        sum += src[first + last];
    partial[t] = sum;
    add_up<THREADS>(partial, t);
    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
