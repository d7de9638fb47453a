// Group norm of channels that are neighbours in memory, in float64: one block of 256 threads for a group of a sample.

struct Group {
    const float *x, *gamma, *beta;  // the group's first values
    long long pixels, channels, width;
    double mean, scale;

    __device__ double at(long long i) const { return x[i / width * channels + i % width]; }
    __device__ double value(long long i) const { return (at(i) - mean) * scale * gamma[i % width] + beta[i % width]; }

    __device__ Group(const float* x, const float* gamma, const float* beta, double eps, long long pixels,
                     long long groups, long long width, long long index)
        : x(x + index / groups * pixels * groups * width + index % groups * width), gamma(gamma + index % groups * width),
          beta(beta + index % groups * width), pixels(pixels), channels(groups * width), width(width)
    {
        double sum = 0.0;
        for (long long i = threadIdx.x; i < pixels * width; i += 256)
            sum += at(i);
        mean = block_sum(sum) / (pixels * width);
        sum = 0.0;
        for (long long i = threadIdx.x; i < pixels * width; i += 256)
            sum += (at(i) - mean) * (at(i) - mean);
        scale = 1.0 / sqrt(block_sum(sum) / (pixels * width) + eps);
    }
};

extern "C" __global__ void check_group_norm(const float* x, const float* gamma, const float* beta, const float* y,
                                            double eps, long long pixels, long long groups, long long width,
                                            double relative, double absolute, Findings* findings)
{
    Group group(x, gamma, beta, eps, pixels, groups, width, blockIdx.x);
    long long start = group.x - x;
    Tally tally;
    for (long long i = threadIdx.x; i < pixels * width; i += 256) {
        long long place = start + i / width * group.channels + i % width;
        double expected = group.value(i);
        tally.judge(y[place], expected, absolute + relative * fabs(expected), place);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_group_norm(const float* x, const float* gamma, const float* beta, double eps,
                                              long long pixels, long long groups, long long width,
                                              const Findings* findings, Explanation* explanation)
{
    long long first = findings->first, channels = groups * width;
    long long c = first % channels, pixel = first / channels;
    Group group(x, gamma, beta, eps, pixels, groups, width, pixel / pixels * groups + c / width);
    if (threadIdx.x == 0)
        *explanation = {(double)first, group.value(pixel % pixels * width + c % width)};
}
