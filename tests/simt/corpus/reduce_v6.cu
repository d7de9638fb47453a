// expect: pass
// reduce_v6: the block size is a template parameter, so that the compiler lays out every step: no loop, no dead step.

// scratch ping, pong: float[cdiv(n, 512)]
// passes m=n until 1 by cdiv(m, 512): reduce_v6(src, dst, m): grid=cdiv(m, 512) block=256

// One step of the block: a barrier after it, because the next step reads its sums.
template <int BLOCK, int S>
__device__ void step(float* partial, int t)
{
    if constexpr (BLOCK >= 2 * S) {
        if (t < S)
            partial[t] += partial[t + S];
        __syncthreads();
    }
}

// One step of the last warp: reads before writes, and writes before the next step's reads.
template <int S>
__device__ void warp_step(float* partial, int t)
{
    float other = partial[t + S];
    __syncwarp();
    partial[t] += other;
    __syncwarp();
}

template <int BLOCK>
__device__ void reduce(const float* src, float* dst, int m)
{
    static_assert(BLOCK >= 64 && (BLOCK & (BLOCK - 1)) == 0, "a power of two, and two warps at least");
    __shared__ float partial[BLOCK];
    int t = threadIdx.x;
    int i = blockIdx.x * (2 * BLOCK) + t;

    float sum = i < m ? src[i] : 0.0f;
    if (i + BLOCK < m)
        sum += src[i + BLOCK];
    partial[t] = sum;
    // Other threads' words are read from here on.
    __syncthreads();

    step<BLOCK, 512>(partial, t);
    step<BLOCK, 256>(partial, t);
    step<BLOCK, 128>(partial, t);
    step<BLOCK, 64>(partial, t);
    if (t < 32) {
        warp_step<32>(partial, t);
        warp_step<16>(partial, t);
        warp_step<8>(partial, t);
        warp_step<4>(partial, t);
        warp_step<2>(partial, t);
        warp_step<1>(partial, t);
    }

    if (t == 0)
        dst[blockIdx.x] = partial[0];
}

extern "C" __global__ void reduce_v6(const float* src, float* dst, int m)
{
    reduce<256>(src, dst, m);
}
