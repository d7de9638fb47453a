// Given with exercises that read and write memory at the rate of a copy: loads of lines that the L2 keeps longest.
//
// Nobody reads these lines again. But lines that have been written then leave the L2 before them, and on an H200 memory
// is read and written at once 2 % faster so, whatever the size of the arrays. GPUs before sm_80 know no cache policies.

#pragma once

#include <cuda_pipeline.h>

__device__ float load_kept(const float* p) { return *p; }

__device__ float4 load_kept(const float4* p)
{
#if __CUDA_ARCH__ < 800
    return *p;
#else
    float4 v;
    asm("{ .reg .b64 policy; createpolicy.fractional.L2::evict_last.b64 policy, 1.0; "
        "ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], policy; }"
        : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
        : "l"(p));
    return v;
#endif
}

// The same as __pipeline_memcpy_async(shared, p, sizeof(*p)).
__device__ void copy_kept(float* shared, const float* p) { __pipeline_memcpy_async(shared, p, 4); }

__device__ void copy_kept(float4* shared, const float4* p)
{
#if __CUDA_ARCH__ < 800
    __pipeline_memcpy_async(shared, p, 16);
#else
    asm volatile("{ .reg .b64 policy; createpolicy.fractional.L2::evict_last.b64 policy, 1.0; "
                 "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, policy; }" ::"r"(
                     (unsigned)__cvta_generic_to_shared(shared)),
                 "l"(p)
                 : "memory");
#endif
}
