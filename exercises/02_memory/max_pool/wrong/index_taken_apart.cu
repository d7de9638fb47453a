// expect: technique
// Plane, row and column come from one index by / and %, by numbers that the compiler does not know.

// max_pool, with one index for all pairs of y, taken apart by / and %.

// launch max_pool(x, y, h, w, planes): grid=cdiv(planes * cdiv(h, 2) * cdiv(w, 4), 256) block=256

__device__ float larger(float a, float b)
{
    return a > b || a != a ? a : b;
}

extern "C" __global__ void max_pool(const float* x, float* y, int h, int w, int planes)
{
    int rows = h / 2, cols = w / 2, pairs = (cols + 1) / 2, i = blockIdx.x * 256 + threadIdx.x;
    if (i >= planes * rows * pairs)
        return;
    int c = 2 * (i % pairs), row = i / pairs % rows, plane = i / (pairs * rows);
    const float* upper = x + ((size_t)plane * h + 2 * row) * w + 2 * c;
    float* to = y + ((size_t)plane * rows + row) * cols + c;
    if (w % 4 == 0) {
        float4 a = *reinterpret_cast<const float4*>(upper), b = *reinterpret_cast<const float4*>(upper + w);
        *reinterpret_cast<float2*>(to) = {larger(larger(a.x, a.y), larger(b.x, b.y)),
                                          larger(larger(a.z, a.w), larger(b.z, b.w))};
    } else {
        for (int k = 0; k < 2 && c + k < cols; ++k)
            to[k] = larger(larger(upper[2 * k], upper[2 * k + 1]), larger(upper[w + 2 * k], upper[w + 2 * k + 1]));
    }
}
