// upsample_nearest_2d: planes of h x w floats become planes of 2h x 2w, each value four times; and the way back for
// gradients, where each value of dx is the sum of the four values of dy that came from it.
//
// Plane p's row r is row R = p * h + r of all rows, and its results are rows 2R and 2R + 1 of all rows: p * 2h + 2r is
// 2R. So nobody has to know the plane. A block has rows and columns of its own, and no index needs a division.

#define LANES 64                 // threads along a row, two values of x each
#define HIGH 4                   // rows of threads in a block
#define ROWS 2                   // rows of x of a thread
#define STEP (HIGH * ROWS)       // rows of x of a block

// launch upsample(x, y, planes * h, w): grid=(cdiv(planes * h, STEP), cdiv(w, 2 * LANES)) block=(LANES, HIGH)
// launch upsample_backward(dy, dx, planes * h, w): grid=(cdiv(planes * h, STEP), cdiv(w, 2 * LANES)) block=(LANES, HIGH)

extern "C" __global__ void upsample(const float* x, float* y, int rows, int w)
{
    int c = 2 * (blockIdx.y * LANES + threadIdx.x);
    if (c >= w)
        return;
#pragma unroll
    for (int u = 0; u < ROWS; ++u) {
        int row = blockIdx.x * STEP + u * HIGH + threadIdx.y;
        if (row >= rows)
            break;
        const float* from = x + (size_t)row * w + c;
        float* upper = y + 4 * (size_t)row * w + 2 * c;
        float* lower = upper + 2 * w;
        // YOUR CODE: two values of x become four of the upper row and four of the lower one. Where w is odd, rows do not
        // YOUR CODE: begin at multiples of 16 bytes, and the last thread of a row has one value.
    }
}

extern "C" __global__ void upsample_backward(const float* dy, float* dx, int rows, int w)
{
    int c = 2 * (blockIdx.y * LANES + threadIdx.x);
    if (c >= w)
        return;
#pragma unroll
    for (int u = 0; u < ROWS; ++u) {
        int row = blockIdx.x * STEP + u * HIGH + threadIdx.y;
        if (row >= rows)
            break;
        const float* upper = dy + 4 * (size_t)row * w + 2 * c;
        const float* lower = upper + 2 * w;
        float* to = dx + (size_t)row * w + c;
        // YOUR CODE: the sums of four values each.
    }
}
