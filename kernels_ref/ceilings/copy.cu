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

// Four floats a thread.
extern "C" __global__ void copy_f32x4(const float4* x, float4* y, long long n) { copy(x, y, n); }

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
