// expect: sim=technique gpu=slow
// Each thread has a piece of its own, as on a CPU: the lanes of a warp are far apart, and so are their sectors.

// launch saxpy(x, y, out, alpha, n): grid=sm_count*8 block=256

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    int threads = gridDim.x * blockDim.x;
    int length = (n + threads - 1) / threads;
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * length;
    for (int i = first; i < min(first + length, n); ++i)
        out[i] = alpha * x[i] + y[i];
}
