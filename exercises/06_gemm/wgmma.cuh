// Given from hgemm_wgmma_v2 on: a function for each PTX instruction of hgemm_wgmma_v1. Read it, and include it; `grade`
// always compiles the course's own copy.

#pragma once

// What a wgmma is told of a matrix in shared memory: where it begins, two distances, and the swizzle. The distances
// count from one 8 × 128-byte piece, which the swizzle permutes, to the next:
//   A, rows of k       `stride` to the next 8 rows; one piece is wide enough, `leading` is not used
//   B, rows of n       `stride` to the next 8 steps of k, `leading` to the next 64 columns
__device__ unsigned long long descriptor(unsigned address, unsigned leading, unsigned stride)
{
    unsigned long long in_16_bytes = (address & 0x3FFFF) >> 4;
    in_16_bytes |= (unsigned long long)(leading >> 4) << 16;
    in_16_bytes |= (unsigned long long)(stride >> 4) << 32;
    return in_16_bytes | 1ull << 62;  // swizzle of 128 bytes
}

// From here on, wgmma may read the registers and shared memory.
__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Everything started since the last commit is one group.
__device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most `PENDING` groups still run.
template <int PENDING>
__device__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// The compiler does not know that a wgmma goes on writing `d`: here it learns that `d` is only now what it is.
__device__ void settle(float (&d)[128])
{
#pragma unroll
    for (int i = 0; i < 128; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
}

#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)

// d = a · b, plus d if `add`: 64 rows, 256 columns, 16 steps of k. Only starts it. The last two numbers of the
// instruction say how the matrices lie: 0, A in rows of k; 1, B in rows of n.
__device__ __forceinline__ void wgmma(float (&d)[128], unsigned long long a, unsigned long long b, int add)
{
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
        " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
        " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
        " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63,"
        " %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79,"
        " %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95,"
        " %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111,"
        " %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127},"
        " %128, %129, p, 1, 1, 0, 1;\n"
        "}"
        : D16(0), D16(16), D16(32), D16(48), D16(64), D16(80), D16(96), D16(112)
        : "l"(a), "l"(b), "r"(add));
}
