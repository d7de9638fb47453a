// softmax_backward: dx = y · (dy - Σ y · dy), where y is a row of softmax's result and dy is the loss's gradient there.
//
// One block works on one row. A thread holds at most 4 packs of 4 values of y and of dy in registers, from the sum to the
// result.

#define PACKS 4  // of 4 floats of each array, in the registers of a thread: 1024 threads hold rows of 16384

// launch softmax_backward(y, dy, dx, rows, cols): grid=rows block=32 * cdiv(cols, 128 * PACKS)

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

// The sum of the products of two packs.
__device__ float dot(float4 u, float4 v) { return (u.x * v.x + u.y * v.y) + (u.z * v.z + u.w * v.w); }

// u · (v - s), for each value of two packs.
__device__ float4 scaled(float4 u, float4 v, float s)
{
    return {u.x * (v.x - s), u.y * (v.y - s), u.z * (v.z - s), u.w * (v.w - s)};
}

extern "C" __global__ void __launch_bounds__(1024)
softmax_backward(const float4* y, const float4* dy, float4* dx, int rows, int cols)
{
    // Thread t takes packs t, t + T, t + 2 * T, … of 4 floats. Row r starts at r * packs; size_t, as it may pass 2^31.
    int t = threadIdx.x;
    int T = blockDim.x;
    int packs = cols / 4;
    size_t start = (size_t)blockIdx.x * packs;

    // All loads first, so that they are in flight together. A place past the row's end has 0, which changes no sum.
    float4 share[PACKS] = {};
    float4 gradient[PACKS] = {};
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
        if (int i = k * T + t; i < packs) {
            share[k] = y[start + i];
            gradient[k] = dy[start + i];
        }

    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
        sum += dot(share[k], gradient[k]);
    sum = block_sum(sum);

#pragma unroll
    for (int k = 0; k < PACKS; ++k)
        if (int i = k * T + t; i < packs)
            dx[start + i] = scaled(share[k], gradient[k], sum);
}
