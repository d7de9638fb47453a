// expect: technique
// Row and column come from one index by / and %, by a number that the compiler does not know.

// upsample_nearest_2d, with one index for all pairs of x, taken apart by / and %.

// launch upsample(x, y, planes * h, w): grid=cdiv(planes * h * cdiv(w, 2), 256) block=256
// launch upsample_backward(dy, dx, planes * h, w): grid=cdiv(planes * h * cdiv(w, 2), 256) block=256

extern "C" __global__ void upsample(const float* x, float* y, int rows, int w)
{
    int pairs = (w + 1) / 2, i = blockIdx.x * 256 + threadIdx.x;
    if (i >= rows * pairs)
        return;
    int row = i / pairs, c = 2 * (i % pairs);
    float2* upper = reinterpret_cast<float2*>(y + 4 * (size_t)row * w) + c;
    for (int k = 0; k < 2 && c + k < w; ++k) {
        float v = x[(size_t)row * w + c + k];
        upper[k] = upper[w + k] = {v, v};
    }
}

extern "C" __global__ void upsample_backward(const float* dy, float* dx, int rows, int w)
{
    int pairs = (w + 1) / 2, i = blockIdx.x * 256 + threadIdx.x;
    if (i >= rows * pairs)
        return;
    int row = i / pairs, c = 2 * (i % pairs);
    const float2* upper = reinterpret_cast<const float2*>(dy + 4 * (size_t)row * w) + c;
    for (int k = 0; k < 2 && c + k < w; ++k)
        dx[(size_t)row * w + c + k] = (upper[k].x + upper[k].y) + (upper[w + k].x + upper[w + k].y);
}
