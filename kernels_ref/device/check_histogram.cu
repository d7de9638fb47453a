// How often each of 256 keys occurs: 1024 blocks count shares of x in shared memory, then a block for each key adds up.

extern "C" __global__ void partial_counts(const int* x, long long n, double* partial)
{
    __shared__ unsigned int counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += 1024 * 256ll)
        atomicAdd(&counts[x[i] & 255], 1);
    __syncthreads();
    partial[threadIdx.x * 1024 + blockIdx.x] = counts[threadIdx.x];
}

__device__ double count_of(const double* partial, long long key)
{
    double sum = 0.0;
    for (int i = threadIdx.x; i < 1024; i += 256)
        sum += partial[key * 1024 + i];
    return block_sum(sum);
}

extern "C" __global__ void check_counts(const double* partial, const int* counts, Findings* findings)
{
    double expected = count_of(partial, blockIdx.x);
    Tally tally;
    if (threadIdx.x == 0)
        tally.judge(counts[blockIdx.x], expected, 0.0, blockIdx.x);
    tally.merge(findings);
}

extern "C" __global__ void explain_count(const double* partial, const Findings* findings, Explanation* explanation)
{
    double expected = count_of(partial, findings->first);
    if (threadIdx.x == 0)
        *explanation = {(double)findings->first, expected};
}
