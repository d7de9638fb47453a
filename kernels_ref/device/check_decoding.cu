// Attention of one token for each sequence and query head, in float64: one block of 256 threads for each of these. The
// file in front of this one says where a token's key and value lie. Rows have 128 halves.

#include <cuda_fp16.h>

struct Cache {
    const __half *q, *k, *v;
    const int *lengths, *table;
    long long kv_heads, group, tokens;

    __device__ long long row(long long at, long long token) const
    {
        long long pair = at / group;
        return cache_row(table, pair / kv_heads, pair % kv_heads, token, kv_heads, tokens) * 128;
    }

    __device__ double score(const double* query, long long at, long long token) const
    {
        const __half* key = k + row(at, token);
        double sum = 0.0;
        for (int d = 0; d < 128; ++d)
            sum += query[d] * (double)__half2float(key[d]);
        return sum / sqrt(128.0);
    }

    // Column d = threadIdx.x % 128 of the result of query head `at`, counted through all sequences; in every thread.
    __device__ double result(long long at) const
    {
        __shared__ double query[128], weight[256], part[256];
        long long length = lengths[at / group / kv_heads];
        if (threadIdx.x < 128)
            query[threadIdx.x] = (double)__half2float(q[at * 128 + threadIdx.x]);
        __syncthreads();  // all threads read the whole query
        double largest = -INFINITE;
        for (long long i = threadIdx.x; i < length; i += 256)
            largest = fmax(largest, score(query, at, i));
        largest = block_max(largest);
        double sum = 0.0, x = 0.0;
        for (long long first = 0; first < length; first += 256) {
            long long mine = first + threadIdx.x;
            __syncthreads();  // the weights of the 256 tokens before have been used
            weight[threadIdx.x] = mine < length ? exp(score(query, at, mine) - largest) : 0.0;
            sum += weight[threadIdx.x];
            __syncthreads();  // all weights are in place
            // Two threads have a column, and half of the tokens each.
            for (int i = threadIdx.x / 128 * 128; i < threadIdx.x / 128 * 128 + 128 && first + i < length; ++i)
                x += weight[i] * (double)__half2float(v[row(at, first + i) + threadIdx.x % 128]);
        }
        sum = block_sum(sum);
        part[threadIdx.x] = x;
        __syncthreads();  // both halves of each column are in place
        x = part[threadIdx.x % 128] + part[threadIdx.x % 128 + 128];
        return length > 0 ? x / sum : 0.0;
    }
};

extern "C" __global__ void check_decoding(const __half* q, const __half* k, const __half* v, const int* lengths,
                                          const int* table, const __half* out, long long kv_heads, long long group,
                                          long long tokens, double relative, double absolute, Findings* findings)
{
    Cache cache = {q, k, v, lengths, table, kv_heads, group, tokens};
    double expected = cache.result(blockIdx.x);
    if (threadIdx.x >= 128)
        return;
    long long index = blockIdx.x * 128ll + threadIdx.x;
    Tally tally;
    tally.judge(__half2float(out[index]), expected, absolute + relative * fabs(expected), index);
    tally.merge(findings);
}

extern "C" __global__ void explain_decoding(const __half* q, const __half* k, const __half* v, const int* lengths,
                                            const int* table, long long kv_heads, long long group, long long tokens,
                                            const Findings* findings, Explanation* explanation)
{
    Cache cache = {q, k, v, lengths, table, kv_heads, group, tokens};
    long long first = findings->first;
    double expected = cache.result(first / 128);
    if (threadIdx.x == first % 128)
        *explanation = {(double)first, expected};
}
