// The first kernel stores both numbers of a row, the second writes the results.
// scratch stats: float[2*rows]
// launch stats_of_rows(x, stats, rows, cols): grid=rows block=256
// launch apply_rows(x, stats, y, rows, cols): grid=rows block=256

extern "C" __global__ void stats_of_rows(const float* x, float* stats, int rows, int cols)
{
    __shared__ float scratch[256 / 32];
    __shared__ float result;
    const float* row = &x[(long long)blockIdx.x * cols];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    float best = -INFINITY;
    int c = threadIdx.x;
    while (c < cols) {
        best = fmaxf(best, row[c]);
        c += 256;
    }
#pragma unroll
    for (int shift = 16; shift > 0; shift /= 2)
        best = fmaxf(best, __shfl_down_sync(0xffffffff, best, shift));
    if (lane == 0)
        scratch[warp] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        float top = scratch[0];
        for (int w = 1; w < 8; ++w)
            top = fmaxf(top, scratch[w]);
        result = top;
        stats[2 * blockIdx.x] = top;
    }
    __syncthreads();
    float top = result, part = 0.0f;
    for (c = threadIdx.x; c < cols; c += 256)
        part += expf(row[c] - top);
#pragma unroll
    for (int shift = 16; shift > 0; shift /= 2)
        part += __shfl_down_sync(0xffffffff, part, shift);
    if (lane == 0)
        scratch[warp] = part;
    __syncthreads();
    if (threadIdx.x == 0) {
        float all = 0.0f;
        for (int w = 0; w < 8; ++w)
            all += scratch[w];
        stats[2 * blockIdx.x + 1] = 1.0f / all;
    }
}

extern "C" __global__ void apply_rows(const float* x, const float* stats, float* y, int rows, int cols)
{
    float top = stats[2 * blockIdx.x], inverse = stats[2 * blockIdx.x + 1];
    long long from = (long long)blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[from + c] = inverse * expf(x[from + c] - top);
}
