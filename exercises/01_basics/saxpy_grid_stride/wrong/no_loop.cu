// expect: wrong
// The grid has the size of the GPU, and there is no loop: what lies behind its last thread is never computed.

// launch saxpy(x, y, out, alpha, n): grid=sm_count*8 block=256

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = alpha * x[i] + y[i];
}
