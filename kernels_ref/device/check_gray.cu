// gray = (77 · red + 150 · green + 29 · blue) / 256 for each pixel; a row of rgba is width pixels and pad bytes.

__device__ double brightness(const unsigned char* rgba, long long index, long long width, long long pad)
{
    const unsigned char* pixel = rgba + index / width * (4 * width + pad) + 4 * (index % width);
    return (77.0 * pixel[0] + 150.0 * pixel[1] + 29.0 * pixel[2]) / 256.0;
}

extern "C" __global__ void check_gray(const unsigned char* rgba, const float* gray, long long width, long long height,
                                      long long pad, double relative, double absolute, Findings* findings)
{
    Tally tally;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < width * height; i += step) {
        double expected = brightness(rgba, i, width, pad);
        tally.judge(gray[i], expected, absolute + relative * fabs(expected), i);
    }
    tally.merge(findings);
}

extern "C" __global__ void explain_gray(const unsigned char* rgba, long long width, long long pad,
                                        const Findings* findings, Explanation* explanation)
{
    unsigned long long i = findings->first;
    *explanation = {(double)i, brightness(rgba, i, width, pad)};
}
