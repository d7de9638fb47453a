// Four elements in flight: loads into two small arrays, bounds inside.
// launch saxpy(x, y, out, alpha, n): grid=sm_count*8 block=256

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float alpha, int n)
{
    const unsigned all = gridDim.x * blockDim.x;
    for (unsigned base = blockIdx.x * blockDim.x + threadIdx.x; base < n; base += 4 * all) {
        float p[4], q[4];
        for (int k = 0; k < 4; k++) {
            unsigned at = base + k * all;
            p[k] = at < n ? x[at] : 0.0f;
            q[k] = at < n ? y[at] : 0.0f;
        }
        for (int k = 0; k < 4; k++)
            if (base + k * all < n)
                out[base + k * all] = fmaf(alpha, p[k], q[k]);
    }
}
