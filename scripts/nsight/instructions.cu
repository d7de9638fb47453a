// One kernel for each kind of instruction that docs/counters.md names: each thread does it ROUNDS times, one after another.
// scripts/nsight/run_instructions.py counts them on the simulator and with Nsight Compute. T is the type of the values.
#include <cuda_fp16.h>

#define ROUNDS 16
#define KERNEL(name, T, statement)                                                  \
    extern "C" __global__ void name(const T* x, T* y) {                            \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                              \
        T v = x[i], w = x[i + 1];                                                   \
        _Pragma("unroll") for (int round = 0; round < ROUNDS; ++round) { statement; } \
        y[i] = v;                                                                   \
    }
#define KERNEL_ASM(name, T, letter, text) KERNEL(name, T, asm(text : "+" letter(v) : letter(w)))

// Special functions: `ex2.approx` and its relatives are one instruction of the unit (MUFU).
KERNEL_ASM(ex2, float, "f", "ex2.approx.ftz.f32 %0, %0;")
KERNEL_ASM(ex2_subnormal, float, "f", "ex2.approx.f32 %0, %0;")
KERNEL_ASM(lg2, float, "f", "lg2.approx.ftz.f32 %0, %0;")
KERNEL_ASM(rcp_approx, float, "f", "{ .reg .f32 t; add.f32 t, %0, %1; rcp.approx.ftz.f32 %0, t; }")
KERNEL_ASM(rsqrt_approx, float, "f", "rsqrt.approx.ftz.f32 %0, %0;")
KERNEL_ASM(sqrt_approx, float, "f", "sqrt.approx.ftz.f32 %0, %0;")
KERNEL_ASM(sin_approx, float, "f", "sin.approx.ftz.f32 %0, %0;")
KERNEL_ASM(cos_approx, float, "f", "cos.approx.ftz.f32 %0, %0;")
KERNEL_ASM(tanh_approx, float, "f", "tanh.approx.f32 %0, %0;")
KERNEL_ASM(div_approx, float, "f", "div.approx.ftz.f32 %0, %1, %0;")
KERNEL_ASM(div_full, float, "f", "div.full.f32 %0, %1, %0;")
KERNEL_ASM(ex2_half, unsigned short, "h", "ex2.approx.f16 %0, %0;")
KERNEL_ASM(ex2_half2, unsigned, "r", "ex2.approx.f16x2 %0, %0;")
KERNEL_ASM(tanh_half2, unsigned, "r", "tanh.approx.f16x2 %0, %0;")
KERNEL(expf_accurate, float, v = expf(v))
KERNEL(logf_accurate, float, v = logf(v + 2.0f))
KERNEL(tanhf_accurate, float, v = tanhf(v))
KERNEL(sinf_accurate, float, v = sinf(v))

// Slow divisions and roots: a sequence of instructions, with a subroutine for subnormal and huge values.
KERNEL(div_rn, float, v = w / v)
KERNEL(rcp_rn, float, v = 1.0f / v)
KERNEL(sqrt_rn, float, v = sqrtf(v))
KERNEL(rsqrtf_rn, float, v = rsqrtf(v))
KERNEL(div_f64, double, v = w / v)
KERNEL(sqrt_f64, double, v = sqrt(v))
KERNEL(div_s32, int, v = w / v)
KERNEL(rem_u32, unsigned, v = w % (v | 1u))
KERNEL(div_u64, unsigned long long, v = w / v)
KERNEL(div_by_7, unsigned, v = (v + w) / 7u)

// Conversions, and double precision.
KERNEL(f64_fma, double, v = v * w + 1.0)
KERNEL(f64_add, double, v = v + w)
KERNEL(f64_constant, float, v = v * 1.1)
KERNEL(f64_compare, double, { asm volatile("{ .reg .pred p; setp.lt.f64 p, %0, %1; selp.f64 %0, %1, %0, p; }" : "+d"(v) : "d"(w)); w += 1.0; })
KERNEL(int_to_float, int, v = __float_as_int(__int2float_rn(v)))
KERNEL(float_to_int, float, v = __int_as_float(__float2int_rz(v)))
KERNEL(half_to_float, unsigned short, v = __half_as_ushort(__float2half_rn(__half2float(__ushort_as_half(v)) + 1.0f)))
KERNEL(float2_to_half2, float, { half2 h = __floats2half2_rn(v, w); v = __low2float(h) + w; })
KERNEL(byte_to_float, unsigned, v = __float_as_uint((float)(v & 255u)))
KERNEL(population, unsigned, v = __popc(v) + w)
KERNEL(leading_zeros, unsigned, v = __clz(v) + w)
KERNEL(bit_reverse, unsigned, v = __brev(v) + w)

// Integers.
KERNEL_ASM(add_s32, int, "r", "add.s32 %0, %0, %1;")
KERNEL_ASM(mad_s32, int, "r", "mad.lo.s32 %0, %0, %1, %1;")
KERNEL_ASM(lop3, unsigned, "r", "lop3.b32 %0, %0, %1, 0x64006400, 0xea;")
KERNEL_ASM(and_or, unsigned, "r", "{ .reg .b32 t; and.b32 t, %0, 0x000f000f; or.b32 t, t, 0x64006400; xor.b32 %0, t, %1; }")
KERNEL_ASM(shift, unsigned, "r", "{ .reg .b32 t; shr.u32 t, %0, 5; add.u32 %0, t, %1; }")
KERNEL_ASM(prmt, unsigned, "r", "prmt.b32 %0, %0, %1, 0x5410;")
KERNEL_ASM(max_s32, int, "r", "{ .reg .s32 t; max.s32 t, %0, %1; xor.b32 %0, t, %1; }")
KERNEL_ASM(select_s32, int, "r", "{ .reg .pred p; setp.lt.s32 p, %0, %1; selp.b32 %0, %0, %1, p; xor.b32 %0, %0, %1; }")
KERNEL_ASM(add_s64, long long, "l", "add.s64 %0, %0, %1;")
KERNEL_ASM(dp4a, int, "r", "dp4a.s32.s32 %0, %0, %1, %0;")
KERNEL(half2_fma, unsigned, asm("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(v) : "r"(w)))

// Local memory: an array whose index is known at run time only.
extern "C" __global__ void local_array(const int* x, int* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int kept[32];
#pragma unroll 1
    for (int k = 0; k < 32; ++k) kept[(x[k] + i) & 31] = k;
    int v = x[i];
#pragma unroll 1
    for (int k = 0; k < ROUNDS; ++k) v += kept[(v + i) & 31];
    y[i] = v;
}

// Constant memory. `none` is 0, which the compiler does not know: each round loads anew. A float4 is two loads of LDC.64.
__constant__ float table[1024];
__constant__ float4 wide[256];
#define CONSTANT(name, value)                                                                         \
    extern "C" __global__ void name(const int* x, float* y) {                                         \
        int i = blockIdx.x * blockDim.x + threadIdx.x, lane = i % 32, none = x[i] == 1, k = 0;        \
        float v = 0.0f;                                                                               \
        _Pragma("unroll 1") for (int round = 0; round < ROUNDS; ++round, k += none) v += value;       \
        y[i] = v;                                                                                     \
    }
CONSTANT(constant_for_all, table[(5 + k) & 1023])
CONSTANT(constant_of_the_round, table[round])
CONSTANT(constant_1_of_2, table[(lane % 2 + k) & 1023])
CONSTANT(constant_far_1_of_2, table[(lane / 16 * 512 + k) & 1023])
CONSTANT(constant_1_of_8, table[(lane / 4 + k) & 1023])
CONSTANT(constant_of_the_lane, table[(lane + k) & 1023])
CONSTANT(constant_far_from_the_next, table[(32 * lane + k) & 1023])
CONSTANT(constant_lanes_reversed, table[(31 - lane + k) & 1023])
CONSTANT(constant_float4_1_of_8, wide[(lane / 4 + k) & 255].x + wide[(lane / 4 + k) & 255].w)
extern "C" __global__ void constant_5_lanes(const int* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = i % 32, none = x[i] == 1, k = 0;
    float v = 0.0f;
    if (lane < 5)
#pragma unroll 1
        for (int round = 0; round < ROUNDS; ++round, k += none) v += table[(lane + k) & 1023];
    y[i] = v;
}

// Tensor cores.
KERNEL(mma_sync, unsigned, { unsigned d = 0;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %2, %2, %2}, {%2, %2}, {%0, %1};"
                 : "+r"(v), "+r"(d) : "r"(w)); v ^= d; })
