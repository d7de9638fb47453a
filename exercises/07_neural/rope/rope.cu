// rope: rotary position embedding. Pair i of a head, elements i and i + dim/2, is turned by position · base^(-2i/dim).
//
// One block works on one token. All heads of a token have the same dim/2 angles: they are computed once, and shared.

// launch rope(x, positions, y, tokens, heads, dim, base): grid=tokens block=BLOCK shared=4*dim

#define BLOCK 256

// Cosine and sine of position · base^(-2i/dim), for positions of 10^6, too.
__device__ void turn(int position, int i, int half, float base, float* cosine, float* sine)
{
    // YOUR CODE
}

// Four pairs: a has their first elements, b the second ones; c and s are cosines and sines of their angles.
__device__ void rotate(float4& a, float4& b, float4 c, float4 s)
{
    // YOUR CODE
}

extern "C" __global__ void __launch_bounds__(BLOCK) rope(const float* x, const int* positions, float* y, int tokens,
                                                         int heads, int dim, float base)
{
    extern __shared__ float4 turns[];  // dim / 2 cosines, then as many sines
    int half = dim / 2, packs = half / 4, all = heads * packs;
    const float4* in = reinterpret_cast<const float4*>(x + (size_t)blockIdx.x * heads * dim);
    float4* out = reinterpret_cast<float4*>(y + (size_t)blockIdx.x * heads * dim);

    // YOUR CODE: the angles of this token, once; then turn its packs, j = 0 … all - 1: pack j % packs of head j / packs.
}
