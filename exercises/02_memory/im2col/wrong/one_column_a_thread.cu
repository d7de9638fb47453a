// expect: technique
// No division, but each thread loads the nine values of its patch: 36 bytes for each value of x.

// im2col, a thread for each place of a plane.

// launch im2col(x, y, h, w): grid=(planes, cdiv(h, 4), cdiv(w, 64)) block=(64, 4)

extern "C" __global__ void im2col(const float* x, float* y, int h, int w)
{
    int c = blockIdx.z * 64 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
    x += (size_t)blockIdx.x * h * w;
    y += (size_t)blockIdx.x * 9 * h * w;
    if (c >= w || r >= h)
        return;
    for (int k = 0; k < 9; ++k) {
        int from = r + k / 3 - 1, s = c + k % 3 - 1;
        bool inside = 0 <= from && from < h && 0 <= s && s < w;
        y[(k * h + r) * w + c] = inside ? x[from * w + s] : 0.0f;
    }
}
