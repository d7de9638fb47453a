// expect: sim=technique
// Hillis and Steele: ten steps, each of which adds up all elements.

constexpr int TILE = 1024;

// launch scan_block(x, out, n): grid=cdiv(n, TILE) block=TILE

extern "C" __global__ void scan_block(const float* x, float* out, int n)
{
    __shared__ float sums[2][TILE];
    int t = threadIdx.x;
    int i = blockIdx.x * TILE + t;
    int from = 0;
    sums[0][t] = t > 0 && i - 1 < n ? x[i - 1] : 0.0f;

    for (int d = 1; d < TILE; d *= 2) {
        // Barrier: the step before has been stored. Steps take turns with two arrays, so one barrier is enough.
        __syncthreads();
        sums[1 - from][t] = sums[from][t] + (t >= d ? sums[from][t - d] : 0.0f);
        from = 1 - from;
    }

    __syncthreads();
    if (i < n)
        out[i] = sums[from][t];
}
