// rmsnorm: h = x + residual, and y = h divided by the root of its row's mean square, times weight. h never comes back
// from memory.
//
// One block works on one row. A thread holds at most 4 packs of 4 values of h in registers, from the sum to the product.

#define PACKS 4  // of 4 floats, in the registers of a thread: 1024 threads hold a row of 16384

// launch rmsnorm(x, residual, weight, h, y, rows, cols, eps): grid=rows block=32 * cdiv(cols, 128 * PACKS)

// The sum over a warp, right in all lanes. All 32 lanes must take part.
__device__ float warp_sum(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    return v;
}

// The sum over the block, right in all threads.
__device__ float block_sum(float v)
{
    __shared__ float of_warps[32];
    int lane = threadIdx.x % 32;
    v = warp_sum(v);
    if (lane == 0)
        of_warps[threadIdx.x / 32] = v;
    __syncthreads();  // every warp reads the words of all warps
    return warp_sum(lane < blockDim.x / 32 ? of_warps[lane] : 0.0f);
}

__device__ float4 operator+(float4 u, float4 v) { return {u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w}; }
__device__ float4 operator*(float4 u, float4 v) { return {u.x * v.x, u.y * v.y, u.z * v.z, u.w * v.w}; }
__device__ float4 operator*(float4 v, float s) { return {v.x * s, v.y * s, v.z * s, v.w * s}; }

extern "C" __global__ void __launch_bounds__(1024)
rmsnorm(const float4* x, const float4* residual, const float4* weight, float4* h, float4* y, int rows, int cols, float eps)
{
    // Thread t takes packs t, t + T, t + 2 * T, … of 4 floats. Row r starts at r * packs; size_t, as it may pass 2^31.
    int t = threadIdx.x;
    int T = blockDim.x;
    int packs = cols / 4;
    size_t start = (size_t)blockIdx.x * packs;

    // YOUR CODE: load PACKS packs of both, add them, store h; then the sum of the squares of h, and y.
}
