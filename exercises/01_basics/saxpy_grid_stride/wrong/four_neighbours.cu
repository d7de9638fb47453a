// expect: sim=technique gpu=slow
// Four elements a thread, but neighbouring ones, and a grid that grows: a request moves four times the sectors.

// launch saxpy(x, y, out, alpha, n): grid=cdiv(n, 1024) block=256

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    for (int i = first; i < min(first + 4, n); ++i)
        out[i] = alpha * x[i] + y[i];
}
