// Keys and values in the order of four bits of the key, equal ones as they were. Block b has the b-th piece of the keys,
// and each of its threads a stretch of that. Outputs are the keys, then the values.

struct Stretch {
    long long begin, end;

    __device__ Stretch(long long n, long long blocks)
    {
        long long each = (n + blocks * 256 - 1) / (blocks * 256);
        begin = min(n, (blockIdx.x * 256ll + threadIdx.x) * each);
        end = min(n, begin + each);
    }
};

__shared__ unsigned int counts[16][256];  // of each digit in each thread's stretch, then in the stretches before
__shared__ unsigned int sums[16];          // of each digit in the piece

// All threads of a block call it, once.
__device__ void count(const unsigned int* keys, Stretch mine, long long shift)
{
    for (int d = 0; d < 16; ++d)
        counts[d][threadIdx.x] = 0;
    for (long long i = mine.begin; i < mine.end; ++i)
        ++counts[keys[i] >> shift & 15][threadIdx.x];
    __syncthreads();  // all stretches are counted
    if (threadIdx.x < 16) {
        unsigned int sum = 0;
        for (int t = 0; t < 256; ++t) {
            unsigned int here = counts[threadIdx.x][t];
            counts[threadIdx.x][t] = sum;
            sum += here;
        }
        sums[threadIdx.x] = sum;
    }
    __syncthreads();  // the sums are in place
}

// pieces[d * gridDim.x + b]: how often digit d is in piece b.
extern "C" __global__ void count_pieces(const unsigned int* keys, long long n, long long shift, double* pieces)
{
    count(keys, Stretch(n, gridDim.x), shift);
    if (threadIdx.x < 16)
        pieces[threadIdx.x * gridDim.x + blockIdx.x] = sums[threadIdx.x];
}

// Each becomes the sum of those before; their number is a multiple of 256.
extern "C" __global__ void before_pieces(double* pieces, long long number)
{
    long long each = number / 256, begin = threadIdx.x * each;
    __shared__ double values[256];
    double sum = 0.0, before = 0.0;
    for (long long b = begin; b < begin + each; ++b)
        sum += pieces[b];
    values[threadIdx.x] = sum;
    __syncthreads();  // all values are in place
    for (int t = 0; t < threadIdx.x; ++t)
        before += values[t];
    for (long long b = begin; b < begin + each; ++b) {
        double piece = pieces[b];
        pieces[b] = before;
        before += piece;
    }
}

extern "C" __global__ void check_moved(const unsigned int* keys, const int* values, const unsigned int* out_keys,
                                       const int* out_values, long long n, long long shift, const double* pieces,
                                       double relative, double absolute, Findings* findings)
{
    Stretch mine(n, gridDim.x);
    count(keys, mine, shift);
    Tally tally;
    for (long long i = mine.begin; i < mine.end; ++i) {
        int digit = keys[i] >> shift & 15;
        long long place = (long long)pieces[digit * gridDim.x + blockIdx.x] + counts[digit][threadIdx.x]++;
        tally.judge(out_keys[place], keys[i], 0.0, place);
        tally.judge(out_values[place], values[i], 0.0, n + place);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_moved(const unsigned int* keys, const int* values, long long n, long long shift,
                                         const double* pieces, const Findings* findings, Explanation* explanation)
{
    long long index = findings->first, place = index % n, blocks = 256, last = 16 * blocks - 1, p = 0;
    while (p < last && pieces[p + 1] <= place)
        ++p;
    long long left = place - (long long)pieces[p], i = p % blocks * (256 * ((n + blocks * 256 - 1) / (blocks * 256)));
    for (;; ++i)
        if ((keys[i] >> shift & 15) == p / blocks && left-- == 0)
            break;
    *explanation = {(double)index, index < n ? (double)keys[i] : (double)values[i]};
}
