// Inputs from a secret key, made on the device: bit for bit what grader/inputs.py makes on the host, where the mapping
// is written down. One thread makes the four elements of one counter.
//
//   generate_exact_T(T* out, count, seed, stream, sample, low, span)      integers low … low + span - 1
//   generate_permutation_i32(int* out, count, seed, stream, sample)       0 … count - 1 in random order
//   generate_rising_i32(…, low, high, skew, width)                        rise with the index, some at random around it
//   generate_real_T (T* out, count, seed, stream, sample, low, high)      uniform in [low, high), T a floating type
//   generate_normal_T(…, low, high)                                       nearly normal in [low, high), T a floating type
//   generate_rising_T(…, low, high)                                       on a line from low to high, T a floating type
//   generate_outlier_T(…, low, high, outlier, normal)                     one of these two; one element in 64 is outlier
//   unchanged_…     (const T* in, …the same…, unsigned long long* changed)   adds the number of elements that differ
//
// T is f16, f32, f64, i8, u8, i32, u32, i64. Integer parameters are 64 bits wide, low, high and outlier are
// doubles. Grid: cdiv(cdiv(count, 4), 256) blocks of 256 threads.

#include <cuda_fp16.h>

typedef unsigned int u32;
typedef unsigned long long u64;

struct Words {
    u32 c[4];
};

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011).
__device__ Words philox(u64 index, u64 seed, u64 stream, u64 sample)
{
    Words w = {{(u32)index, (u32)(index >> 32), (u32)stream, (u32)sample}};
    u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        u64 p0 = (u64)0xD2511F53u * w.c[0];
        u64 p1 = (u64)0xCD9E8D57u * w.c[2];
        w = {{(u32)(p1 >> 32) ^ w.c[1] ^ k0, (u32)p1, (u32)(p0 >> 32) ^ w.c[3] ^ k1, (u32)p0}};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return w;
}

// An integer of the exact range: low + (word * span >> 32). span is at most 2^32, so the product fits 64 bits.
struct Exact {
    long long low;
    u64 span;
    __device__ long long operator()(u64, u32 word) const { return low + (long long)(((u64)word * span) >> 32); }
};

// A real: 24 bits of the word, scaled in float64. The intrinsics keep the compiler from fusing multiply and add.
struct Real {
    double low, high;
    __device__ double operator()(u64, u32 word) const
    {
        double u = (double)(word >> 8) * 0x1p-24;
        return __dadd_rn(low, __dmul_rn(__dsub_rn(high, low), u));
    }
};

// The sum of the word's four bytes, and a fraction from a hash of the word. t is exact: 34 bits.
struct Normal {
    double low, high;
    __device__ double operator()(u64, u32 word) const
    {
        u32 sum = (word & 255u) + (word >> 8 & 255u) + (word >> 16 & 255u) + (word >> 24);
        u32 fraction = word * 0x9E3779B1u >> 8;
        double t = (double)(((u64)sum << 24) + fraction) * 0x1p-24;
        return __dadd_rn(low, __dmul_rn(__ddiv_rn(__dsub_rn(high, low), 1021.0), t));
    }
};

// How far i is on the way from 0 to last: 0 to 1, and 1 behind it.
__device__ double way(u64 i, u64 last) { return __ddiv_rn((double)min(i, last), (double)max(last, 1ull)); }

// On a line from low to high.
struct RisingReal {
    u64 last;
    double low, high;
    __device__ double operator()(u64 i, u32) const
    {
        return __dadd_rn(low, __dmul_rn(__dsub_rn(high, low), way(i, last)));
    }
};

// One element in 64 is the outlier; the others have the shape that is asked for.
struct Outlier {
    double low, high, outlier;
    bool normal;
    __device__ double operator()(u64 i, u32 word) const
    {
        if (word % 64u == 33u)
            return outlier;
        return normal ? Normal{low, high}(i, word) : Real{low, high}(i, word);
    }
};

// Element i of a permutation: a Feistel network on 2b bits, repeated until the number is below count.
struct Permutation {
    u64 count;
    Words keys;
    u32 bits;
    __device__ Permutation(u64 n, Words k) : count(n), keys(k), bits(1)
    {
        while (bits < 31 && count > 1ull << 2 * bits)
            ++bits;
    }
    __device__ long long operator()(u64 i, u32) const
    {
        u32 low = (1u << bits) - 1;
        do {
            u32 left = (u32)(i >> bits), right = (u32)i & low;
#pragma unroll
            for (int round = 0; round < 4; ++round) {
                u32 z = (right ^ keys.c[round]) * 0x85EBCA6Bu;
                z = (z ^ z >> 13) * 0xC2B2AE35u;
                u32 mixed = left ^ ((z ^ z >> 16) & low);
                left = right;
                right = mixed;
            }
            i = (u64)left << bits | right;
        } while (i >= count);
        return (long long)i;
    }
};

// Element i lies between its place on a curve and the next one's, widened by width within the bounds.
struct Rising {
    u64 last;
    long long low, high, skew, width;
    __device__ long long place(u64 i) const
    {
        double part = way(i, last);
        for (long long k = 0; k < skew; ++k)
            part = __dsqrt_rn(part);
        return low + (long long)__dmul_rn((double)(high - low), part);
    }
    __device__ long long operator()(u64 i, u32 word) const
    {
        if (width == 0 && i == 0)
            return low;
        long long least = max(place(i) - width, low), most = min(place(i + 1) + width, high);
        return least + (long long)((u64)word * (u64)(most - least + 1) >> 32);
    }
};

// The one rounding to the array's type, to nearest even. Integers of an exact range are all representable.
template <typename T>
__device__ T to(double value) { return (T)value; }
template <typename T>
__device__ T to(long long value) { return (T)value; }
template <>
__device__ __half to<__half>(double value) { return __double2half(value); }
template <>
__device__ __half to<__half>(long long value) { return __ll2half_rn(value); }

template <typename T>
struct Store {
    T* out;
    __device__ void operator()(u64 i, T value) const { out[i] = value; }
};

// Bits are compared, so that -0.0 does not pass for 0.0 and a NaN never passes.
template <typename T>
struct Compare {
    const T* in;
    u64* changed;
    __device__ void operator()(u64 i, T value) const
    {
        u64 was = 0, is = 0;
        memcpy(&was, &value, sizeof(T));
        memcpy(&is, &in[i], sizeof(T));
        if (was != is)
            atomicAdd(changed, 1ull);
    }
};

template <typename T, typename Values, typename Sink>
__device__ void each(u64 count, u64 seed, u64 stream, u64 sample, Values values, Sink sink)
{
    u64 index = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (index * 4 >= count)
        return;
    Words w = philox(index, seed, stream, sample);
#pragma unroll
    for (int j = 0; j < 4; ++j)
        if (index * 4 + j < count)
            sink(index * 4 + j, to<T>(values(index * 4 + j, w.c[j])));
}

#define LIST(...) __VA_ARGS__
#define KERNELS(kind, name, T, parameters, values)                                                                   \
    extern "C" __global__ void generate_##kind##_##name(T* out, u64 count, u64 seed, u64 stream, u64 sample          \
                                                        LIST parameters)                                             \
    {                                                                                                                \
        each<T>(count, seed, stream, sample, LIST values, Store<T>{out});                                            \
    }                                                                                                                \
    extern "C" __global__ void unchanged_##kind##_##name(const T* in, u64 count, u64 seed, u64 stream, u64 sample    \
                                                         LIST parameters, u64* changed)                              \
    {                                                                                                                \
        each<T>(count, seed, stream, sample, LIST values, Compare<T>{in, changed});                                  \
    }

#define EXACT(name, T) KERNELS(exact, name, T, (, long long low, u64 span), (Exact{low, span}))
#define REAL(name, T)                                                                                                \
    KERNELS(real, name, T, (, double low, double high), (Real{low, high}))                                           \
    KERNELS(normal, name, T, (, double low, double high), (Normal{low, high}))                                       \
    KERNELS(rising, name, T, (, double low, double high), (RisingReal{count - 1, low, high}))                        \
    KERNELS(outlier, name, T, (, double low, double high, double outlier, u64 normal),                               \
            (Outlier{low, high, outlier, normal != 0}))

EXACT(f16, __half) EXACT(f32, float) EXACT(f64, double)
EXACT(i8, signed char) EXACT(u8, unsigned char) EXACT(i32, int) EXACT(u32, unsigned int) EXACT(i64, long long)
KERNELS(permutation, i32, int, (), (Permutation(count, philox(~0ull, seed, stream, sample))))
KERNELS(rising, i32, int, (, long long low, long long high, long long skew, long long width),
        (Rising{count - 1, low, high, skew, width}))
REAL(f16, __half) REAL(f32, float) REAL(f64, double)
