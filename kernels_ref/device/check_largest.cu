// Of each row the 8 largest, equal ones by place: a block for each row searches eight times. No value is NaN. Outputs are
// the values, then the places.

#define BEHIND 9e18  // larger than all places

// The largest value after this one, and its place: among smaller ones, or equal ones further behind.
struct Ranked {
    double value = INFINITE, place = -1.0;

    __device__ void next(const float* row, long long cols)
    {
        double best = -INFINITE, at = BEHIND;
        for (long long c = threadIdx.x; c < cols; c += 256) {
            double v = row[c];
            if ((v < value || (v == value && c > place)) && (v > best || (v == best && c < at)))
                best = v, at = (double)c;
        }
        value = block_max(best);
        place = block_combine(best == value ? at : BEHIND, [](double a, double b) { return fmin(a, b); });
    }
};

extern "C" __global__ void check_largest(const float* x, const float* values, const int* places, long long rows,
                                         long long cols, double relative, double absolute, Findings* findings)
{
    long long row = blockIdx.x;
    Ranked ranked;
    Tally tally;
    for (int j = 0; j < 8; ++j) {
        ranked.next(x + row * cols, cols);
        long long at = row * 8 + j;
        if (threadIdx.x != 0)
            continue;
        tally.judge(values[at], ranked.value, absolute + relative * fabs(ranked.value), at);
        tally.judge(places[at], ranked.place, 0.0, rows * 8 + at);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_largest(const float* x, long long rows, long long cols, const Findings* findings,
                                           Explanation* explanation)
{
    long long index = findings->first, at = index % (rows * 8);
    Ranked ranked;
    for (int j = 0; j <= at % 8; ++j)
        ranked.next(x + at / 8 * cols, cols);
    if (threadIdx.x == 0)
        *explanation = {(double)index, index < rows * 8 ? ranked.value : ranked.place};
}
