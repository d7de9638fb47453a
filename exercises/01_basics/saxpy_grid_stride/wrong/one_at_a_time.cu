// expect: sim=pass gpu=slow
// A right grid-stride loop, but each store waits for its loads, and the next loads stand after the store.

// launch saxpy(x, y, out, alpha, n): grid=sm_count*8 block=256

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = alpha * x[i] + y[i];
}
