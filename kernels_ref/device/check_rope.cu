// Rotary position embedding in float64: pair i of a head is turned by position · base^(-2i / dim). Which elements are a
// pair says the file in front of this one.

// Element e of the token whose values begin at x.
__device__ double rotated(const float* x, double position, long long e, long long dim, double base)
{
    long long head = e / dim * dim, i = e % dim;
    double sine, cosine;
    sincos(position * pow(base, -2.0 * pair_of(i, dim) / dim), &sine, &cosine);
    double other = x[head + partner(i, dim)];
    return x[e] * cosine + (is_first(i, dim) ? -other : other) * sine;
}

// One block a token.
extern "C" __global__ void check_rope(const float* x, const int* positions, const float* y, long long heads,
                                      long long dim, double base, double relative, double absolute, Findings* findings)
{
    long long start = blockIdx.x * heads * dim;
    Tally tally;
    for (long long e = threadIdx.x; e < heads * dim; e += blockDim.x) {
        double expected = rotated(x + start, positions[blockIdx.x], e, dim, base);
        tally.judge(y[start + e], expected, absolute + relative * fabs(expected), start + e);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_rope(const float* x, const int* positions, long long heads, long long dim, double base,
                                        const Findings* findings, Explanation* explanation)
{
    long long first = findings->first, token = first / (heads * dim);
    *explanation = {(double)first, rotated(x + token * heads * dim, positions[token], first % (heads * dim), dim, base)};
}
