// expect: sim=pass gpu=slow
// A tile and a halo, and one float a thread: too few bytes are in flight.

// stencil_1d, with a tile, and one float a thread.

#define RADIUS 8
#define BLOCK 256

__constant__ float WEIGHTS[2 * RADIUS + 1];

// constant WEIGHTS = weights
// launch stencil_1d(x, out, n): grid=cdiv(n, BLOCK) block=BLOCK

extern "C" __global__ void stencil_1d(const float* x, float* out, int n)
{
    __shared__ float tile[BLOCK + 2 * RADIUS];
    int first = blockIdx.x * BLOCK - RADIUS;
    for (int t = threadIdx.x; t < BLOCK + 2 * RADIUS; t += BLOCK)
        tile[t] = first + t >= 0 && first + t < n ? x[first + t] : 0.0f;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k <= 2 * RADIUS; ++k)
        sum = fmaf(WEIGHTS[k], tile[threadIdx.x + k], sum);
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        out[i] = sum;
}
