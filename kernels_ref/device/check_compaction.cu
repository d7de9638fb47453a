// The elements above 0, in their order, and their number. Block b has the b-th piece of x, and each of its threads a
// stretch of that. `out` is the first output, so the number has the index n.

struct Stretch {
    long long begin, end;

    __device__ Stretch(long long n, long long blocks)
    {
        long long each = (n + blocks * 256 - 1) / (blocks * 256);
        begin = min(n, (blockIdx.x * 256ll + threadIdx.x) * each);
        end = min(n, begin + each);
    }
};

__device__ double kept(const float* x, long long begin, long long end)
{
    double count = 0.0;
    for (long long i = begin; i < end; ++i)
        count += x[i] > 0.0f;
    return count;
}

// The sum of the values of the threads before this one; integers, so the order does not matter.
__device__ double before_thread(double value)
{
    __shared__ double values[256];
    __syncthreads();  // an earlier call's values have been read
    values[threadIdx.x] = value;
    __syncthreads();  // all values are in place
    double sum = 0.0;
    for (int t = 0; t < threadIdx.x; ++t)
        sum += values[t];
    return sum;
}

extern "C" __global__ void count_pieces(const float* x, long long n, double* pieces)
{
    Stretch mine(n, gridDim.x);
    double count = block_sum(kept(x, mine.begin, mine.end));
    if (threadIdx.x == 0)
        pieces[blockIdx.x] = count;
}

// pieces[b] becomes the number in the pieces before b, and pieces[pieces] the number of all; a multiple of 256.
extern "C" __global__ void before_pieces(double* pieces, long long count)
{
    long long each = count / 256, begin = threadIdx.x * each;
    double sum = 0.0;
    for (long long b = begin; b < begin + each; ++b)
        sum += pieces[b];
    double before = before_thread(sum);
    for (long long b = begin; b < begin + each; ++b) {
        double piece = pieces[b];
        pieces[b] = before;
        before += piece;
    }
    if (threadIdx.x == 255)
        pieces[count] = before;
}

extern "C" __global__ void check_kept(const float* x, const float* out, const int* count, long long n,
                                      const double* pieces, double relative, double absolute, Findings* findings)
{
    Stretch mine(n, gridDim.x);
    long long place = (long long)(pieces[blockIdx.x] + before_thread(kept(x, mine.begin, mine.end)));
    Tally tally;
    for (long long i = mine.begin; i < mine.end; ++i)
        if (x[i] > 0.0f) {
            tally.judge(out[place], x[i], 0.0, place);
            ++place;
        }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        tally.judge(*count, pieces[gridDim.x], 0.0, n);
    tally.merge(findings);
}

extern "C" __global__ void explain_kept(const float* x, long long n, const double* pieces, long long blocks,
                                        const Findings* findings, Explanation* explanation)
{
    long long index = findings->first, piece = 256 * ((n + blocks * 256 - 1) / (blocks * 256)), b = 0;
    *explanation = {(double)index, pieces[blocks]};
    if (index == n)
        return;
    while (b + 1 < blocks && pieces[b + 1] <= index)
        ++b;
    long long left = index - (long long)pieces[b], i = b * piece;
    for (; !(x[i] > 0.0f) || left > 0; ++i)
        left -= x[i] > 0.0f;
    explanation->expected = x[i];
}
