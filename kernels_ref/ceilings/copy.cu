// How fast can memory be read and written at once, half and half?

template <typename T>
__device__ void copy(const T* x, T* y, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i];
}

// One float a thread.
extern "C" __global__ void copy_f32x1(const float* x, float* y, long long n) { copy(x, y, n); }

// A load whose lines are the last to leave the L2, so that lines that have been written leave it first. On an H200 a copy
// is 1 to 2 % faster so, whatever its size; as the first to leave they make it 2 % slower. More floats a thread are slower.
__device__ float4 load_kept(const float4* p)
{
#if __CUDA_ARCH__ >= 800
    float4 v;
    asm("{ .reg .b64 policy; createpolicy.fractional.L2::evict_last.b64 policy, 1.0; "
        "ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], policy; }"
        : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
        : "l"(p));
    return v;
#else
    return *p;
#endif
}

// Four floats a thread.
extern "C" __global__ void copy_f32x4(const float4* x, float4* y, long long n)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = load_kept(x + i);
}

// One float a load and store, eight of each a thread: all loads, then all stores, a block's width apart.
extern "C" __global__ void copy_f32x1_8(const float* x, float* y, long long n)
{
    long long first = blockIdx.x * (8ll * blockDim.x) + threadIdx.x;
    float value[8];
#pragma unroll
    for (int k = 0; k < 8; ++k)
        if (first + k * blockDim.x < n)
            value[k] = x[first + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < 8; ++k)
        if (first + k * blockDim.x < n)
            y[first + k * blockDim.x] = value[k];
}
