// dx of each row, then dgamma and dbeta of each column, in float64. Indices count through dx, dgamma and dbeta.

struct Row {
    const float *x, *dy, *gamma;
    double mean, rstd, of_g, of_products;
    __device__ double n(long long c) const { return (x[c] - mean) * rstd; }
    __device__ double g(long long c) const { return (double)dy[c] * gamma[c]; }
    // All 256 threads of a block.
    __device__ Row(const float* x, const float* dy, const float* gamma, double mean, double rstd, long long cols)
        : x(x), dy(dy), gamma(gamma), mean(mean), rstd(rstd)
    {
        double sum = 0.0, products = 0.0;
        for (long long c = threadIdx.x; c < cols; c += 256) {
            sum += g(c);
            products += g(c) * n(c);
        }
        of_g = block_sum(sum) / cols;
        of_products = block_sum(products) / cols;
    }
    __device__ double dx(long long c) const { return rstd * (g(c) - of_g - n(c) * of_products); }
};

extern "C" __global__ void check_rows(const float* x, const float* dy, const float* gamma, const float* mean,
                                      const float* rstd, const float* dx, long long cols, double relative,
                                      double absolute, Findings* findings)
{
    long long start = blockIdx.x * cols;
    Row row(x + start, dy + start, gamma, mean[blockIdx.x], rstd[blockIdx.x], cols);
    Tally tally;
    for (long long c = threadIdx.x; c < cols; c += 256) {
        double expected = row.dx(c);
        tally.judge(dx[start + c], expected, absolute + relative * fabs(expected), start + c);
    }
    tally.merge(findings);
}

// 32 columns a block: 8 threads add up every 8th row of each.
extern "C" __global__ void check_columns(const float* x, const float* dy, const float* mean, const float* rstd,
                                         const float* dgamma, const float* dbeta, long long rows, long long cols,
                                         double relative, double absolute, Findings* findings)
{
    __shared__ double products[8][32], sums[8][32];
    int lane = threadIdx.x % 32, slice = threadIdx.x / 32;
    long long c = blockIdx.x * 32ll + lane;
    double product = 0.0, sum = 0.0;
    if (c < cols)
        for (long long r = slice; r < rows; r += 8) {
            product += dy[r * cols + c] * ((double)x[r * cols + c] - mean[r]) * rstd[r];
            sum += dy[r * cols + c];
        }
    products[slice][lane] = product;
    sums[slice][lane] = sum;
    __syncthreads();
    if (slice > 0 || c >= cols)
        return;
    for (int s = 1; s < 8; ++s) {
        product += products[s][lane];
        sum += sums[s][lane];
    }
    Tally tally;
    tally.judge(dgamma[c], product, absolute + relative * fabs(product), rows * cols + c);
    tally.judge(dbeta[c], sum, absolute + relative * fabs(sum), rows * cols + cols + c);
    tally.merge(findings);
}

extern "C" __global__ void explain_layer_norm_backward(const float* x, const float* dy, const float* gamma,
                                                       const float* mean, const float* rstd, long long rows,
                                                       long long cols, const Findings* findings,
                                                       Explanation* explanation)
{
    long long first = findings->first;
    double expected;
    if (first < rows * cols) {
        long long r = first / cols;
        expected = Row(x + r * cols, dy + r * cols, gamma, mean[r], rstd[r], cols).dx(first % cols);
    } else {
        long long place = first - rows * cols, c = place % cols;
        double sum = 0.0;
        for (long long r = threadIdx.x; r < rows; r += 256)
            sum += dy[r * cols + c] * (place < cols ? ((double)x[r * cols + c] - mean[r]) * rstd[r] : 1.0);
        expected = block_sum(sum);
    }
    if (threadIdx.x == 0)
        *explanation = {(double)first, expected};
}
