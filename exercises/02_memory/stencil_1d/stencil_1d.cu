// stencil_1d: out[i] is the sum of WEIGHTS[k] * x[i + k - 8] for k from 0 to 16. Outside of the array x is 0.
//
// A block copies its piece of x, and 8 floats on either side of it, to shared memory. So each float is loaded from
// global memory once, and a few of them twice.

#define RADIUS 8
#define BLOCK 256
#define PACKS 2               // packs of four floats of a thread: both loads are in flight at once
#define TILE (PACKS * BLOCK)  // packs that a block computes
#define HALO (RADIUS / 4)     // packs that it needs on either side of them

__constant__ float WEIGHTS[2 * RADIUS + 1];

// constant WEIGHTS = weights
// launch stencil_1d(x, out, n): grid=cdiv(n, 4*TILE) block=BLOCK

// Four floats of x from 4 * pack on, as one load of 16 bytes. What lies outside of the array is 0.
__device__ float4 load_pack(const float* x, int n, int pack)
{
    int i = 4 * pack;
    if (i >= 0 && i + 4 <= n)
        return reinterpret_cast<const float4*>(x)[pack];
    float4 v = {0.0f, 0.0f, 0.0f, 0.0f};
    // YOUR CODE: the pack before the array's begin stays 0. The last pack may have one to three floats of the array.

    return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK) stencil_1d(const float* x, float* out, int n)
{
    __shared__ float4 tile[HALO + TILE + HALO];
    int t = threadIdx.x;
    int first = blockIdx.x * TILE - HALO;  // the pack of x that becomes tile[0]

    // YOUR CODE: copy HALO + TILE + HALO packs to the tile. Issue all loads before the first value is stored.

    // A thread reads what other threads have stored.
    __syncthreads();

#pragma unroll
    for (int u = 0; u < PACKS; ++u) {
        int p = t + u * BLOCK;

        // YOUR CODE: four results of pack p, from packs p to p + 2 * HALO of the tile. out has n floats.

    }
}
