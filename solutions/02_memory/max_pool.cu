// max_pool: the largest value of each 2 x 2 square of h x w planes, like torch.nn.functional.max_pool2d(x, 2). The last
// row of an odd h and the last column of an odd w belong to no square.
//
// A thread has two neighbouring values of y: four neighbouring columns of two rows of x. The plane is blockIdx.x, and a
// block has rows and columns of its own, so no index needs a division by a number known at run time only.

#define LANES 32                 // threads along a row, two values of y each
#define HIGH 8                   // rows of threads in a block
#define ROWS 2                   // rows of y of a thread
#define STEP (HIGH * ROWS)       // rows of y of a block

// launch max_pool(x, y, h, w): grid=(planes, cdiv(h, 2 * STEP), cdiv(w, 4 * LANES)) block=(LANES, HIGH)

__device__ float larger(float a, float b)
{
    // A NaN is larger than all numbers. fmaxf would return the operand that is no NaN.
    return a > b || a != a ? a : b;
}

extern "C" __global__ void max_pool(const float* x, float* y, int h, int w)
{
    int rows = h / 2, cols = w / 2;
    int c = 2 * (blockIdx.z * LANES + threadIdx.x);
    int top = blockIdx.y * STEP + threadIdx.y;
    if (c >= cols)
        return;
    x += (size_t)blockIdx.x * h * w;
    y += (size_t)blockIdx.x * rows * cols;
    if (w % 4 == 0) {
        // All loads come before the first store: 64 bytes of each thread are in flight.
        float4 a[ROWS], b[ROWS];
#pragma unroll
        for (int u = 0; u < ROWS; ++u) {
            int row = top + u * HIGH;
            if (row < rows) {
                const float* upper = x + 2 * row * w + 2 * c;
                a[u] = __ldcs(reinterpret_cast<const float4*>(upper));
                b[u] = __ldcs(reinterpret_cast<const float4*>(upper + w));
            }
        }
#pragma unroll
        for (int u = 0; u < ROWS; ++u) {
            int row = top + u * HIGH;
            if (row < rows) {
                float2 v = {larger(larger(a[u].x, a[u].y), larger(b[u].x, b[u].y)),
                            larger(larger(a[u].z, a[u].w), larger(b[u].z, b[u].w))};
                __stcs(reinterpret_cast<float2*>(y + row * cols + c), v);
            }
        }
    } else {
        // Rows do not begin at multiples of 16 bytes, and the last thread of a row may have one value.
        for (int row = top; row < rows && row < top + STEP; row += HIGH) {
            for (int k = c; k < c + 2 && k < cols; ++k) {
                const float* upper = x + 2 * row * w + 2 * k;
                y[row * cols + k] = larger(larger(upper[0], upper[1]), larger(upper[w], upper[w + 1]));
            }
        }
    }
}
