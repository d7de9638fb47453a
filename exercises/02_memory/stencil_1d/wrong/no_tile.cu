// expect: technique
// Each term is loaded from global memory: 68 bytes for each result.

// stencil_1d, with a load from global memory for each term.

#define RADIUS 8
#define BLOCK 256

__constant__ float WEIGHTS[2 * RADIUS + 1];

// constant WEIGHTS = weights
// launch stencil_1d(x, out, n): grid=cdiv(n, BLOCK) block=BLOCK

extern "C" __global__ void stencil_1d(const float* x, float* out, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k <= 2 * RADIUS; ++k) {
        int from = i + k - RADIUS;
        if (from >= 0 && from < n)
            sum = fmaf(WEIGHTS[k], x[from], sum);
    }
    out[i] = sum;
}
