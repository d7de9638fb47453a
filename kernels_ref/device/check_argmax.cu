// The lowest index of the largest element; a NaN is larger than all numbers. Of each block first, then of all blocks.

#define NOWHERE 9e18  // larger than all places

struct Best {
    double nan = NOWHERE;                        // the lowest place of a NaN
    double value = -INFINITE, place = NOWHERE;  // the largest number, and its lowest place

    __device__ void take(double v, double at)
    {
        if (isnan(v))
            nan = fmin(nan, at);
        else if (v > value || (v == value && at < place))
            value = v, place = at;
    }

    __device__ double index() const { return nan < NOWHERE ? nan : place; }
};

__device__ double block_min(double value)
{
    return block_combine(value, [](double a, double b) { return fmin(a, b); });
}

// The best of a block of 256 threads, in every thread.
__device__ Best block_best(Best mine)
{
    Best best;
    best.nan = block_min(mine.nan);
    best.value = block_max(mine.value);
    best.place = block_min(mine.value == best.value ? mine.place : NOWHERE);
    return best;
}

extern "C" __global__ void best_of_blocks(const float* x, long long n, double* nans, double* values, double* places)
{
    Best best;
    long long step = (long long)gridDim.x * 256;
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += step)
        best.take(x[i], (double)i);
    best = block_best(best);
    if (threadIdx.x == 0) {
        nans[blockIdx.x] = best.nan;
        values[blockIdx.x] = best.value;
        places[blockIdx.x] = best.place;
    }
}

__device__ Best best_of_all(const double* nans, const double* values, const double* places, long long blocks)
{
    Best best;
    for (long long b = threadIdx.x; b < blocks; b += 256) {
        best.nan = fmin(best.nan, nans[b]);
        best.take(values[b], places[b]);
    }
    return block_best(best);
}

extern "C" __global__ void check_argmax(const double* nans, const double* values, const double* places,
                                        long long blocks, const long long* index, double relative, double absolute,
                                        Findings* findings)
{
    double expected = best_of_all(nans, values, places, blocks).index();
    if (threadIdx.x != 0)
        return;
    Tally tally;
    tally.judge(*index, expected, 0.0, 0);
    tally.merge(findings);
}

extern "C" __global__ void explain_argmax(const double* nans, const double* values, const double* places,
                                          long long blocks, Explanation* explanation)
{
    double expected = best_of_all(nans, values, places, blocks).index();
    if (threadIdx.x == 0)
        *explanation = {0.0, expected};
}
