// What every check shares: it stands in front of each check_*.cu when that is compiled.

#define INFINITE __longlong_as_double(0x7ff0000000000000ll)

// What a check has found, in global memory: {0, ~0, 0} before it runs.
struct Findings {
    unsigned long long bad;    // elements outside the tolerance (matmul: rows)
    unsigned long long first;  // the smallest index among them
    unsigned long long worst;  // bits of the largest error / allowed among them, a positive double: ordered like it
};

// Where the first bad element is and what it should have been.
struct Explanation {
    double index, expected;
};

__device__ inline bool within(double got, double expected, double allowed)
{
    return fabs(got - expected) <= allowed;  // false for a NaN
}

// One thread's findings. They are kept in registers and merged once, because 2^28 atomics would take longer than the check.
struct Tally {
    unsigned long long bad = 0, first = ~0ull;
    double worst = 0.0;

    __device__ void judge(double got, double expected, double allowed, unsigned long long index)
    {
        if (within(got, expected, allowed))
            return;
        double ratio = fabs(got - expected) / allowed;
        bad += 1;
        first = min(first, index);
        worst = ratio >= 0.0 ? fmax(worst, ratio) : INFINITE;  // a NaN counts as infinity
    }

    __device__ void merge(Findings* findings) const
    {
        if (!bad)
            return;
        atomicAdd(&findings->bad, bad);
        atomicMin(&findings->first, first);
        atomicMax(&findings->worst, (unsigned long long)__double_as_longlong(worst));
    }
};

// The sum or the maximum of the values of a block of 256 threads, in every thread; the order is fixed, so the bits are.
template <typename Combine>
__device__ double block_combine(double value, Combine combine)
{
    __shared__ double partial[256];
    __syncthreads();  // an earlier call's result has been read by all
    partial[threadIdx.x] = value;
    for (int s = 128; s > 0; s /= 2) {
        __syncthreads();  // what this round reads has been written
        if (threadIdx.x < s)
            partial[threadIdx.x] = combine(partial[threadIdx.x], partial[threadIdx.x + s]);
    }
    __syncthreads();  // the result is in place
    return partial[0];
}

__device__ inline double block_sum(double value)
{
    return block_combine(value, [](double a, double b) { return a + b; });
}

__device__ inline double block_max(double value)
{
    return block_combine(value, [](double a, double b) { return fmax(a, b); });
}
