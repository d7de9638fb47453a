// expect: sim=technique gpu=slow
// Right, as vector_add does it: the grid grows with n, and a thread has two loads in flight.

// launch saxpy(x, y, out, alpha, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = alpha * x[i] + y[i];
}
