// swiglu: out[i] = silu(gate[i]) * up[i] with silu(x) = x / (1 + exp(-x)), in one pass: nothing in between is stored.
//
// The feed-forward layers of Llama and its relatives do this with the results of two matrix products.

// launch swiglu(gate, up, out, n): grid=cdiv(n, 4*BLOCK) block=BLOCK

#define BLOCK 256

// One element: silu(x) * up.
//
// For a very negative x the exponential is infinity, and x / infinity is -0: right. exp(x) / (1 + exp(x)), which is the
// same on paper, is infinity / infinity above 88.7: no number.
__device__ float silu_times(float x, float up)
{
    // The exact division is about ten instructions and a branch; __fdividef is a reciprocal and a product, exact to two
    // units in the last place as long as the divisor is below 2^126. Above, it gives 0, and so should it here.
    return __fdividef(x, 1.0f + __expf(-x)) * up;
}

extern "C" __global__ void swiglu(const float* gate, const float* up, float* out, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;

    // 16 bytes of each array for each thread: as many bytes in flight as the memory needs. Both loads are issued before
    // the first one's value is used.
    int packs = n / 4;
    if (i < packs) {
        float4 g = reinterpret_cast<const float4*>(gate)[i];
        float4 u = reinterpret_cast<const float4*>(up)[i];
        float4 r = {silu_times(g.x, u.x), silu_times(g.y, u.y), silu_times(g.z, u.z), silu_times(g.w, u.w)};
        reinterpret_cast<float4*>(out)[i] = r;
    }

    // What is in no pack: at most three elements, by the first threads of the grid.
    int k = 4 * packs + i;
    if (i < n % 4)
        out[k] = silu_times(gate[k], up[k]);
}
