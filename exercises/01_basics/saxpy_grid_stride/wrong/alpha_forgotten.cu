// expect: wrong
// It adds x and y; alpha is not used.

// launch saxpy(x, y, out, alpha, n): grid=sm_count*8 block=256

constexpr int UNROLL = 2;

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    int step = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (UNROLL - 1) * step < n; i += UNROLL * step) {
        float u[UNROLL], v[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) {
            u[k] = x[i + k * step];
            v[k] = y[i + k * step];
        }
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
            out[i + k * step] = u[k] + v[k];
    }
    for (; i < n; i += step)
        out[i] = x[i] + y[i];
}
