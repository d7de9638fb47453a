// How fast can memory be read and written at once, two reads for each write?

// One float of each array a thread.
extern "C" __global__ void add_f32x1(const float* a, const float* b, float* c, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

// Four floats of each array a thread.
extern "C" __global__ void add_f32x4(const float4* a, const float4* b, float4* c, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 u = a[i], v = b[i];
    c[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
}
