// expect: sim=technique gpu=pass
// Block and registers are fine, but 48 KiB a block allow only three blocks.

// launch occupancy(x, y, out, n, m): grid=cdiv(n, BLOCK * OWN) block=BLOCK

#define BLOCK 256
#define OWN 8
#define CHUNK 12288

extern "C" __global__ void __launch_bounds__(BLOCK, 64 * 32 / BLOCK) occupancy(const float* x, const float* y, float* out, int n, int m)
{
    __shared__ float chunk[CHUNK];

    // Neighbouring threads have neighbouring points; a thread's next point lies a block further.
    float point[OWN], sum[OWN];
    int first = blockIdx.x * BLOCK * OWN + threadIdx.x;
    for (int k = 0; k < OWN; k++) {
        int i = first + k * BLOCK;
        point[k] = i < n ? x[i] : 0.0f;
        sum[k] = 0.0f;
    }

    for (int start = 0; start < m; start += CHUNK) {
        int count = min(CHUNK, m - start);
        for (int j = threadIdx.x; j < count; j += BLOCK)
            chunk[j] = y[start + j];

        // Barrier: each thread reads all of the chunk, of which it has brought a part.
        __syncthreads();

        for (int j = 0; j < count; j++)
            for (int k = 0; k < OWN; k++)
                sum[k] += fabsf(point[k] - chunk[j]);

        // Barrier: the next chunk overwrites this one, which others may still be reading.
        __syncthreads();
    }

    for (int k = 0; k < OWN; k++) {
        int i = first + k * BLOCK;
        if (i < n)
            out[i] = sum[k];
    }
}
