// rope: rotary position embedding. Pair i of a head, elements i and i + dim/2, is turned by position · base^(-2i/dim).
//
// One block works on one token. All heads of a token have the same dim/2 angles: they are computed once, and shared.

// launch rope(x, positions, y, tokens, heads, dim, base): grid=tokens block=BLOCK shared=4*dim

#define BLOCK 256
#define PACKS 2  // pairs of packs that a thread loads before it waits for the angles

// Cosine and sine of position · base^(-2i/dim), for positions of 10^6, too.
//
// Such a position turns pair 0 by 10^6 radians: a float has 24 bits for it, 20 of which stand before the point. So the
// angle is computed in whole turns, as a double; whole turns change nothing and are dropped; what is left is at most half
// a turn, for which a float is good enough.
__device__ void turn(int position, int i, int half, float base, float* cosine, float* sine)
{
    double turns_of_one = exp2(-log2((double)base) * i / half) * 0.15915494309189535;  // 1 / 2π
    double turns = position * turns_of_one;
    float rest = (float)(turns - rint(turns));
    sincospif(2.0f * rest, sine, cosine);
}

// Four pairs: a has their first elements, b the second ones; c and s are cosines and sines of their angles.
__device__ void rotate(float4& a, float4& b, float4 c, float4 s)
{
    float4 p = a, q = b;
    a = {p.x * c.x - q.x * s.x, p.y * c.y - q.y * s.y, p.z * c.z - q.z * s.z, p.w * c.w - q.w * s.w};
    b = {q.x * c.x + p.x * s.x, q.y * c.y + p.y * s.y, q.z * c.z + p.z * s.z, q.w * c.w + p.w * s.w};
}

// A load whose lines are the last to leave the L2. Nobody reads them again; but then lines that have been written leave
// it first. On an H200 memory is read and written at once 2 % faster so, whatever the size of the arrays.
__device__ float4 load(const float4* p)
{
#if __CUDA_ARCH__ < 800  // no cache policies
    return *p;
#else
    float4 v;
    asm("{ .reg .b64 policy; createpolicy.fractional.L2::evict_last.b64 policy, 1.0; "
        "ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], policy; }"
        : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
        : "l"(p));
    return v;
#endif
}

extern "C" __global__ void __launch_bounds__(BLOCK) rope(const float* x, const int* positions, float* y, int tokens,
                                                         int heads, int dim, float base)
{
    extern __shared__ float4 turns[];  // dim / 2 cosines, then as many sines
    int half = dim / 2, packs = half / 4, all = heads * packs;
    float* cosines = reinterpret_cast<float*>(turns);
    const float4* in = reinterpret_cast<const float4*>(x + (size_t)blockIdx.x * heads * dim);
    float4* out = reinterpret_cast<float4*>(y + (size_t)blockIdx.x * heads * dim);

    for (int start = threadIdx.x; start - threadIdx.x < all; start += PACKS * BLOCK) {
        // Neighbouring lanes take neighbouring packs of a head's first half, and the packs that belong to them, half a
        // head further. All loads are issued before the angles: these are long computations, which run meanwhile.
        float4 a[PACKS], b[PACKS];
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            int j = start + k * BLOCK, at = j + j / packs * packs;
            if (j < all) {
                a[k] = load(in + at);
                b[k] = load(in + at + packs);
            }
        }

        // The first time only: all threads of the block come here with it, because the loop's bound is the block's.
        if (start == threadIdx.x) {
            int position = positions[blockIdx.x];
            for (int i = threadIdx.x; i < half; i += BLOCK)
                turn(position, i, half, base, cosines + i, cosines + half + i);
            __syncthreads();  // all angles are in place before anyone uses another thread's
        }

#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            int j = start + k * BLOCK, at = j + j / packs * packs;
            if (j < all) {
                rotate(a[k], b[k], turns[j % packs], turns[packs + j % packs]);
                out[at] = a[k];
                out[at + packs] = b[k];
            }
        }
    }
}
