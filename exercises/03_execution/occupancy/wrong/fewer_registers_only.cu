// expect: sim=technique gpu=pass
// The registers would allow two blocks and more; of 24 warps each, 64 places hold no third one.

// launch occupancy(x, y, out, n, m): grid=cdiv(n, BLOCK * OWN) block=BLOCK

#define BLOCK 768
#define OWN 4
#define CHUNK 1024

extern "C" __global__ void occupancy(const float* x, const float* y, float* out, int n, int m)
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
