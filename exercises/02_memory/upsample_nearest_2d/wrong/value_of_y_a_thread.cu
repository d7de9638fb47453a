// expect: technique
// Each value of x is loaded by the four threads of its places in y.

// upsample_nearest_2d, with a thread for each value of y: its rows and columns are halves of the thread's own.

// launch upsample(x, y, planes * h, w): grid=(2 * planes * h, cdiv(2 * w, 128)) block=128
// launch upsample_backward(dy, dx, planes * h, w): grid=(planes * h, cdiv(w, 128)) block=128

extern "C" __global__ void upsample(const float* x, float* y, int rows, int w)
{
    int c = blockIdx.y * 128 + threadIdx.x;
    if (c < 2 * w)
        y[(size_t)blockIdx.x * 2 * w + c] = x[(size_t)(blockIdx.x / 2) * w + c / 2];
}

extern "C" __global__ void upsample_backward(const float* dy, float* dx, int rows, int w)
{
    int c = blockIdx.y * 128 + threadIdx.x;
    if (c >= w)
        return;
    const float2* upper = reinterpret_cast<const float2*>(dy) + (size_t)blockIdx.x * 2 * w + c;
    float2 a = upper[0], b = upper[w];
    dx[(size_t)blockIdx.x * w + c] = (a.x + a.y) + (b.x + b.y);
}
