// expect: sim=technique gpu=slow
// From sm_90 on one atomic adds a float4. The simulator is an A100: it compiles and counts the other branch.

// zero out
// launch vector_atomics(x, index, out, n): grid=cdiv(n, 16) block=256

__device__ void add(float4* to, float4 v)
{
#if __CUDA_ARCH__ >= 900
    atomicAdd(to, v);
#else
    atomicAdd(&to->x, v.x);
    atomicAdd(&to->y, v.y);
    atomicAdd(&to->z, v.z);
    atomicAdd(&to->w, v.w);
#endif
}

extern "C" __global__ void __launch_bounds__(256) vector_atomics(const float4* x, const int* index, float4* out, int n)
{
    // 16 lanes have a row.
    int i = blockIdx.x * 16 + threadIdx.x / 16, pack = threadIdx.x % 16;
    if (i < n)
        add(&out[(size_t)index[i] * 16 + pack], x[(size_t)i * 16 + pack]);
}
