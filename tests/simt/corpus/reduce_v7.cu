// expect: pass
// reduce_v7: many elements per thread: a grid that fills the GPU strides over the input, four floats at a time.

// scratch ping, pong: float[min(cdiv(n, 1024), 8 * sm_count)]
// passes m=n until 1 by min(cdiv(m, 1024), 8*sm_count): reduce_v7(src, dst, m): grid=min(cdiv(m, 1024), 8*sm_count) block=256

constexpr int BLOCK = 256;

extern "C" __global__ void reduce_v7(const float* src, float* dst, int m)
{
    __shared__ float partial[BLOCK];
    int t = threadIdx.x;
    int thread = blockIdx.x * BLOCK + t;
    int threads = gridDim.x * BLOCK;

    // Whole float4s first: 16 bytes per lane and request, neighbouring lanes side by side.
    const float4* src4 = reinterpret_cast<const float4*>(src);
    float sum = 0.0f;
    for (int i = thread; i < m / 4; i += threads) {
        float4 v = src4[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    // The last one to three elements.
    int tail = m / 4 * 4 + thread;
    if (tail < m)
        sum += src[tail];

    partial[t] = sum;
    // Other threads' words are read from here on.
    __syncthreads();

#pragma unroll
    for (int s = BLOCK / 2; s > 32; s /= 2) {
        if (t < s)
            partial[t] += partial[t + s];
        // The next step, or the last warp, reads sums of this one.
        __syncthreads();
    }

    if (t < 32) {
        // Reads before writes, and writes before the next step's reads.
#pragma unroll
        for (int s = 32; s > 0; s /= 2) {
            float other = partial[t + s];
            __syncwarp();
            partial[t] += other;
            __syncwarp();
        }
    }

    if (t == 0)
        dst[blockIdx.x] = partial[0];
}
