// launch saxpy(x, y, out, alpha, n): grid=sm_count*16 block=128

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    for (long long i = blockIdx.x * 128LL + threadIdx.x; i < n; i += gridDim.x * 128LL)
        out[i] = x[i] * alpha + y[i];
}
