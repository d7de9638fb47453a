// How fast can memory be read and written at once: two reads for each write, or for two of them; four for three?

#include <cuda_fp16.h>

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

// Four floats of each array a thread, and a second result.
extern "C" __global__ void add_copy_f32x4(const float4* a, const float4* b, float4* c, float4* d, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 u = a[i], v = b[i];
    float4 sum = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
    c[i] = sum;
    d[i] = sum;
}

// Four floats of each array a thread; every result needs all four of them.
extern "C" __global__ void read_4_write_3_f32x4(const float4* a, const float4* b, const float4* c, const float4* d,
                                                float4* e, float4* f, float4* g, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 s = a[i], t = b[i], u = c[i], v = d[i];
    float4 sum = make_float4((s.x + t.x) + (u.x + v.x), (s.y + t.y) + (u.y + v.y), (s.z + t.z) + (u.z + v.z),
                             (s.w + t.w) + (u.w + v.w));
    e[i] = sum;
    f[i] = sum;
    g[i] = sum;
}

// Eight halves of each array a thread.
union Halves {
    uint4 all;
    __half2 pair[4];
};

extern "C" __global__ void add_f16x8(const uint4* a, const uint4* b, uint4* c, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Halves u = {a[i]}, v = {b[i]};
    for (int k = 0; k < 4; ++k)
        u.pair[k] = __hadd2(u.pair[k], v.pair[k]);
    c[i] = u.all;
}
