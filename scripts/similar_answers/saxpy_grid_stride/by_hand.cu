// Two elements by hand, with names of their own, and a tail.
// launch saxpy(x, y, out, alpha, n): grid=sm_count*8 block=256

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    long long stride = (long long)blockDim.x * gridDim.x;
    long long here = threadIdx.x + (long long)blockIdx.x * blockDim.x;
    long long there = here + stride;
    while (there < n) {
        float x0 = x[here];
        float x1 = x[there];
        float y0 = y[here];
        float y1 = y[there];
        out[here] = alpha * x0 + y0;
        out[there] = alpha * x1 + y1;
        here = there + stride;
        there = here + stride;
    }
    if (here < n)
        out[here] = alpha * x[here] + y[here];
}
