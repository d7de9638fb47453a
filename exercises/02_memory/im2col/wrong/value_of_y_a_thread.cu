// expect: technique
// A thread for each value of y: its index is taken apart by / and %, and each value of x is loaded nine times.

// im2col, a thread for each value of y.

// launch im2col(x, y, planes, h, w): grid=cdiv(9*planes*h*w, 256) block=256

extern "C" __global__ void im2col(const float* x, float* y, int planes, int h, int w)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= planes * 9 * h * w)
        return;
    int c = i % w, r = i / w % h, k = i / w / h % 9, p = i / w / h / 9;
    int from = r + k / 3 - 1, s = c + k % 3 - 1;
    bool inside = 0 <= from && from < h && 0 <= s && s < w;
    y[i] = inside ? x[(p * h + from) * w + s] : 0.0f;
}
