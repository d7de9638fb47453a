// out = a + b for n0 x n1 x n2 x n3 elements, each operand with a stride for each axis. The index counts through out.

struct Strides {
    long long s0, s1, s2, s3;
};

__device__ double strided_sum(const float* a, const float* b, long long i, long long n1, long long n2, long long n3,
                              Strides p, Strides q)
{
    long long i3 = i % n3, i2 = i / n3 % n2, i1 = i / n3 / n2 % n1, i0 = i / n3 / n2 / n1;
    return (double)a[i0 * p.s0 + i1 * p.s1 + i2 * p.s2 + i3 * p.s3] + b[i0 * q.s0 + i1 * q.s1 + i2 * q.s2 + i3 * q.s3];
}

extern "C" __global__ void check_strided_broadcast(const float* a, const float* b, const float* out, long long n0,
                                                   long long n1, long long n2, long long n3, long long a0, long long a1,
                                                   long long a2, long long a3, long long b0, long long b1, long long b2,
                                                   long long b3, double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n0 * n1 * n2 * n3; i += step) {
        double expected = strided_sum(a, b, i, n1, n2, n3, {a0, a1, a2, a3}, {b0, b1, b2, b3});
        tally.judge(out[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_strided_broadcast(const float* a, const float* b, long long n1, long long n2,
                                                     long long n3, long long a0, long long a1, long long a2,
                                                     long long a3, long long b0, long long b1, long long b2,
                                                     long long b3, const Findings* findings, Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, strided_sum(a, b, i, n1, n2, n3, {a0, a1, a2, a3}, {b0, b1, b2, b3})};
}
