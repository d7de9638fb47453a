// expect: race
// Hillis and Steele in one array: between reading and writing of a step nobody waits.

constexpr int TILE = 1024;

// launch scan_block(x, out, n): grid=cdiv(n, TILE) block=TILE

extern "C" __global__ void scan_block(const float* x, float* out, int n)
{
    __shared__ float sums[TILE];
    int t = threadIdx.x;
    int i = blockIdx.x * TILE + t;
    sums[t] = t > 0 && i - 1 < n ? x[i - 1] : 0.0f;

    for (int d = 1; d < TILE; d *= 2) {
        __syncthreads();
        if (t >= d)
            sums[t] += sums[t - d];
    }

    __syncthreads();
    if (i < n)
        out[i] = sums[t];
}
