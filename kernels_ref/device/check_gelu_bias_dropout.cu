// y = dropout(gelu(x + bias)) and the bits of what is kept. Random words are Philox4x32-10's of the counter
// (i / 4, 0, offset, 0) and the key (seed, 0), as the exercise's header gives them.

// GELU with its normal distribution approximated by a tanh.
__device__ double gelu(double x) { return x / (1.0 + exp(-2.0 * 0.7978845608028654 * (x + 0.044715 * x * x * x))); }

struct Words {
    unsigned int w[4];
};

__device__ Words philox(unsigned int index, unsigned int offset, unsigned int seed)
{
    unsigned int c0 = index, c1 = 0, c2 = offset, c3 = 0, k0 = seed, k1 = 0;
    for (int round = 0; round < 10; ++round) {
        unsigned long long p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
        c0 = (unsigned int)(p1 >> 32) ^ c1 ^ k0;
        c1 = (unsigned int)p1;
        c2 = (unsigned int)(p0 >> 32) ^ c3 ^ k1;
        c3 = (unsigned int)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

// The numbers of a case, as the check gets them: p is the float that the kernel gets.
struct Dropout {
    unsigned int offset, seed;
    double p;

    __device__ bool keeps(long long i) const
    {
        return philox(i / 4, offset, seed).w[i % 4] >= p * 4294967296.0;
    }
    __device__ double result(double x, long long i) const { return keeps(i) ? gelu(x) / (1.0 - p) : 0.0; }
};

__device__ Dropout dropout(long long seed, long long offset, double p)
{
    return {(unsigned int)offset, (unsigned int)seed, (double)(float)p};
}

extern "C" __global__ void check_results(const float* x, const float* bias, const float* y, long long rows,
                                         long long cols, long long seed, long long offset, double p, double relative,
                                         double absolute, Findings* findings)
{
    Dropout drop = dropout(seed, offset, p);
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < rows * cols; i += step) {
        double expected = drop.result((double)x[i] + (double)bias[i % cols], i);
        tally.judge(y[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

__device__ unsigned int word_of(const Dropout& drop, long long word)
{
    unsigned int bits = 0;
    for (int k = 0; k < 32; ++k)
        bits |= (unsigned int)drop.keeps(32 * word + k) << k;
    return bits;
}

// Bits are right or wrong: nothing is allowed. Words are counted after the elements of y.
extern "C" __global__ void check_mask(const unsigned int* mask, long long rows, long long cols, long long seed,
                                      long long offset, double p, Findings* findings)
{
    Dropout drop = dropout(seed, offset, p);
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < rows * cols / 32; i += step)
        tally.judge(mask[i], word_of(drop, i), 0.0, rows * cols + i);
    tally.merge(findings);
}

extern "C" __global__ void explain_result(const float* x, const float* bias, long long rows, long long cols,
                                          long long seed, long long offset, double p, const Findings* findings,
                                          Explanation* explanation)
{
    Dropout drop = dropout(seed, offset, p);
    long long i = findings->first, n = rows * cols;
    *explanation = {(double)i, i < n ? drop.result((double)x[i] + (double)bias[i % cols], i) : word_of(drop, i - n)};
}
