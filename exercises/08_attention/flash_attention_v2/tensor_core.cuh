// Given with flash_attention_v2: the instructions, a function each. An address in shared memory is a number of 32 bits.
#pragma once

#include <cuda_fp16.h>

// Begins to copy 16 bytes from global to shared memory. Where `inside` is false nothing is read, and 16 zeros arrive.
__device__ __forceinline__ void cp_async16(unsigned to, const void* from, bool inside)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
}

// Ends a group of copies. A thread's groups are complete in the order in which it ended them.
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most PENDING of this thread's groups are not complete.
template <int PENDING>
__device__ __forceinline__ void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// Loads four blocks of 8 × 8 halves. Lane 8 * i + r gives the address of row r of block i, 16 bytes.
__device__ __forceinline__ void ldmatrix_x4(unsigned (&to)[4], unsigned row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

// The same, and transposes each block on the way.
__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&to)[4], unsigned row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(row)
                 : "memory");
}

// sum += a · b for a of 16 × 16, b of 16 × 8 (b0 is its upper half, b1 the lower) and sum of 16 × 8 elements.
__device__ __forceinline__ void mma_16816(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// 2 to the power of x in one instruction, right to 2^-22; 0 for -infinity. (exp2f adds two for subnormal results.)
__device__ __forceinline__ float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Two floats, rounded to halves, in one register: `low` in its lower bits, as a pair of neighbours lies in memory.
__device__ __forceinline__ unsigned pack(float low, float high)
{
    __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<unsigned*>(&pair);
}
