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

// YOUR CODE: the larger one of two floats, where a NaN is larger than all numbers.

extern "C" __global__ void max_pool(const float* x, float* y, int h, int w)
{
    int rows = h / 2, cols = w / 2;
    int c = 2 * (blockIdx.z * LANES + threadIdx.x);
    int top = blockIdx.y * STEP + threadIdx.y;
    if (c >= cols)
        return;
    x += (size_t)blockIdx.x * h * w;
    y += (size_t)blockIdx.x * rows * cols;
    // YOUR CODE: columns c and c + 1 of y, in rows top and top + HIGH. Where w is a multiple of 4, all rows of x begin at
    // YOUR CODE: multiples of 16 bytes, and rows of y at multiples of 8. Else take one value at a time.
}
