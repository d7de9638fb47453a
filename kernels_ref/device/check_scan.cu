// out[i] = x[0] + … + x[i], in float64. Block b has the b-th piece of x, and each of its threads a stretch of that.

struct Stretch {
    long long begin, end;

    __device__ Stretch(long long n, long long blocks)
    {
        long long each = (n + blocks * 256 - 1) / (blocks * 256);
        begin = min(n, (blockIdx.x * 256ll + threadIdx.x) * each);
        end = min(n, begin + each);
    }

    __device__ double sum(const float* x) const
    {
        double sum = 0.0;
        for (long long i = begin; i < end; ++i)
            sum += x[i];
        return sum;
    }
};

// The sum of the values of the threads before this one.
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

extern "C" __global__ void piece_sums(const float* x, long long n, double* pieces)
{
    double sum = block_sum(Stretch(n, gridDim.x).sum(x));
    if (threadIdx.x == 0)
        pieces[blockIdx.x] = sum;
}

// pieces[b] becomes the sum of the pieces before b; their number is a multiple of 256.
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
}

extern "C" __global__ void check_sums(const float* x, const float* out, long long n, const double* pieces,
                                      double relative, double absolute, Findings* findings)
{
    Stretch mine(n, gridDim.x);
    double sum = pieces[blockIdx.x] + before_thread(mine.sum(x));
    Tally tally;
    for (long long i = mine.begin; i < mine.end; ++i) {
        sum += x[i];
        tally.judge(out[i], sum, absolute + relative * fabs(sum), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_sums(const float* x, long long n, const double* pieces, const Findings* findings,
                                        Explanation* explanation)
{
    // From the beginning of the first bad element's piece: the pieces are as long as in the check.
    long long index = findings->first, piece = 256 * ((n + 4096 * 256 - 1) / (4096 * 256));
    double sum = 0.0;
    for (long long i = index / piece * piece + threadIdx.x; i <= index; i += 256)
        sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *explanation = {(double)index, pieces[index / piece] + sum};
}
