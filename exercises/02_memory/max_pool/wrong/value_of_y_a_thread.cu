// expect: technique
// A thread for each value of y loads its square float by float: lanes of one request leave gaps.

// max_pool, with a thread for each value of y.

// launch max_pool(x, y, h, w): grid=(planes, cdiv(h, 8), cdiv(w, 128)) block=(64, 4)

extern "C" __global__ void max_pool(const float* x, float* y, int h, int w)
{
    int rows = h / 2, cols = w / 2;
    int c = blockIdx.z * 64 + threadIdx.x, row = blockIdx.y * 4 + threadIdx.y;
    if (c >= cols || row >= rows)
        return;
    const float* upper = x + ((size_t)blockIdx.x * h + 2 * row) * w + 2 * c;
    float v[4] = {upper[0], upper[1], upper[w], upper[w + 1]}, best = v[0];
    for (int k = 1; k < 4; ++k)
        best = best > v[k] || best != best ? best : v[k];
    y[((size_t)blockIdx.x * rows + row) * cols + c] = best;
}
