// expect: pass
// reduce_v8: lanes hand their sums over by shuffles; shared memory holds one word for each warp.

// scratch ping, pong: float[min(cdiv(n, 1024), 8 * sm_count)]
// passes m=n until 1 by min(cdiv(m, 1024), 8*sm_count): reduce_v8(src, dst, m): grid=min(cdiv(m, 1024), 8*sm_count) block=256

constexpr int BLOCK = 256;
constexpr int WARPS = BLOCK / 32;

// The sum over the warp, right in lane 0. All 32 lanes take part.
__device__ float warp_sum(float v)
{
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_down_sync(0xffffffff, v, s);
    return v;
}

extern "C" __global__ void reduce_v8(const float* src, float* dst, int m)
{
    __shared__ float sums[WARPS];
    int t = threadIdx.x;
    int lane = t % 32;
    int warp = t / 32;
    int thread = blockIdx.x * BLOCK + t;
    int threads = gridDim.x * BLOCK;

    const float4* src4 = reinterpret_cast<const float4*>(src);
    float sum = 0.0f;
    for (int i = thread; i < m / 4; i += threads) {
        float4 v = src4[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    int tail = m / 4 * 4 + thread;
    if (tail < m)
        sum += src[tail];

    sum = warp_sum(sum);
    if (lane == 0)
        sums[warp] = sum;
    // The first warp reads the words of all warps.
    __syncthreads();

    if (warp == 0) {
        sum = warp_sum(lane < WARPS ? sums[lane] : 0.0f);
        if (lane == 0)
            dst[blockIdx.x] = sum;
    }
}
