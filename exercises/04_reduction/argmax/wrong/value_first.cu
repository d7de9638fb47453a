// expect: sim=technique
// The largest value in one launch, its place in a second one, which reads x again, float by float.

// scratch largest: int[1]
// zero largest
// launch find_value(x, largest, n): grid=max(1, min(cdiv(n, 256), 4096)) block=256
// launch clear(index, n): grid=1 block=1
// launch find_place(x, largest, index, n): grid=max(1, min(cdiv(n, 256), 4096)) block=256

// Bits as an integer, ordered like the floats; above 0 for all, and a NaN above all.
__device__ unsigned int ordered(float v)
{
    unsigned int bits = __float_as_uint(v + 0.0f);
    return v != v ? 0xffffffffu : bits >> 31 ? ~bits : bits | 0x80000000u;
}

extern "C" __global__ void find_value(const float* x, int* largest, long long n)
{
    unsigned int best = 0;
    for (long long i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        best = max(best, ordered(x[i]));
    atomicMax((unsigned int*)largest, best);
}

extern "C" __global__ void clear(long long* index, long long n)
{
    *index = n;
}

extern "C" __global__ void find_place(const float* x, const int* largest, long long* index, long long n)
{
    unsigned int best = *largest;
    for (long long i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        if (ordered(x[i]) == best)
            atomicMin(index, i);
}
