// expect: sim=technique gpu=slow
// Two loops with a stop in memory between: out is written, read back and written again.

// launch saxpy(x, y, out, alpha, n): grid=sm_count*8 block=256

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    int step = gridDim.x * blockDim.x;
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += step)
        out[i] = alpha * x[i];
    for (int i = first; i < n; i += step)
        out[i] += y[i];
}
