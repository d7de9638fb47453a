// out[r, c] = the sum of mask[i, j] * image[r + i - 3, c + j - 3] over 7 x 7 places, and the image is 0 outside.

__device__ double weighted(const float* image, const float* mask, long long index, long long rows, long long cols)
{
    double sum = 0.0;
    for (int i = 0; i < 7; ++i)
        for (int j = 0; j < 7; ++j) {
            long long r = index / cols + i - 3, c = index % cols + j - 3;
            bool inside = r >= 0 && r < rows && c >= 0 && c < cols;
            sum += inside ? (double)mask[7 * i + j] * image[r * cols + c] : 0.0;
        }
    return sum;
}

extern "C" __global__ void check_weighted_image(const float* image, const float* mask, const float* out, long long rows,
                                                long long cols, double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < rows * cols; i += step) {
        double expected = weighted(image, mask, i, rows, cols);
        tally.judge(out[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_weighted_image(const float* image, const float* mask, long long rows, long long cols,
                                                  const Findings* findings, Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, weighted(image, mask, i, rows, cols)};
}
