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
    if (i >= 0 && i < n) {
        v.x = x[i];
        v.y = i + 1 < n ? x[i + 1] : 0.0f;
        v.z = i + 2 < n ? x[i + 2] : 0.0f;
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(BLOCK) stencil_1d(const float* x, float* out, int n)
{
    __shared__ float4 tile[HALO + TILE + HALO];
    int t = threadIdx.x;
    int first = blockIdx.x * TILE - HALO;  // the pack of x that becomes tile[0]

    // All loads are issued before the first value is stored.
    float4 own[PACKS];
#pragma unroll
    for (int u = 0; u < PACKS; ++u)
        own[u] = load_pack(x, n, first + t + u * BLOCK);
    if (t < 2 * HALO)
        tile[TILE + t] = load_pack(x, n, first + TILE + t);
#pragma unroll
    for (int u = 0; u < PACKS; ++u)
        tile[t + u * BLOCK] = own[u];

    // A thread reads what other threads have stored.
    __syncthreads();

#pragma unroll
    for (int u = 0; u < PACKS; ++u) {
        int p = t + u * BLOCK;

        // The tile begins HALO packs before the first result: result pack p needs packs p to p + 2 * HALO of it. A float
        // serves up to four results from its register. All indices are constants once the loops are unrolled.
        float v[4 * (2 * HALO + 1)];
#pragma unroll
        for (int q = 0; q <= 2 * HALO; ++q) {
            float4 pack = tile[p + q];
            v[4 * q] = pack.x;
            v[4 * q + 1] = pack.y;
            v[4 * q + 2] = pack.z;
            v[4 * q + 3] = pack.w;
        }
        float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int k = 0; k <= 2 * RADIUS; ++k)
#pragma unroll
            for (int j = 0; j < 4; ++j)
                sum[j] = fmaf(WEIGHTS[k], v[j + k], sum[j]);

        int i = 4 * (blockIdx.x * TILE + p);
        if (i + 4 <= n) {
            reinterpret_cast<float4*>(out)[i / 4] = {sum[0], sum[1], sum[2], sum[3]};
        } else {
#pragma unroll
            for (int j = 0; j < 3; ++j)
                if (i + j < n)
                    out[i + j] = sum[j];
        }
    }
}
