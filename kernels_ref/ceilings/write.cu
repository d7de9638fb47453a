// How fast can memory be written? Four floats a thread.

extern "C" __global__ void write_f32x4(float4* y, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = make_float4(1.0f, 2.0f, 3.0f, 4.0f);
}
