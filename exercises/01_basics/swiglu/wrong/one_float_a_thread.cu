// expect: sim=pass gpu=slow
// One float a thread: right, and too few bytes in flight.

// launch swiglu(gate, up, out, n): grid=cdiv(n, 256) block=256

extern "C" __global__ void swiglu(const float* gate, const float* up, float* out, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        out[i] = __fdividef(gate[i], 1.0f + __expf(-gate[i])) * up[i];
}
