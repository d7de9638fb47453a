// im2col: the 3 x 3 patches of planes of h x w values, with zeros around, like torch.nn.functional.unfold(x, 3, padding=1).
// Row 9 * p + k of y has, for each place of plane p, the value that tap k = 3 * i + j sees there.
//
// A thread has four neighbouring columns of two neighbouring rows. It keeps the 4 x 6 values that their patches cover, and
// stores 18 packs. The plane is blockIdx.x, and a block has rows and columns of its own, so no index needs a division by
// a number known at run time only.

#define LANES 32                 // threads along a row, four columns each
#define HIGH 8                   // rows of threads in a block
#define ROWS 2                   // neighbouring rows of a thread
#define STEP (HIGH * ROWS)       // rows of a block

// launch im2col(x, y, h, w): grid=(planes, cdiv(h, STEP), cdiv(w, 4 * LANES)) block=(LANES, HIGH)

extern "C" __global__ void im2col(const float* x, float* y, int h, int w)
{
    int begin = 4 * LANES * blockIdx.z, c = begin + 4 * threadIdx.x;
    int top = blockIdx.y * STEP + ROWS * threadIdx.y;
    x += (size_t)blockIdx.x * h * w;
    y += (size_t)blockIdx.x * 9 * h * w;
    // YOUR CODE: where w is a multiple of 4, all rows begin at multiples of 16 bytes. Load columns c - 1 to c + 4 of rows
    // YOUR CODE: top - 1 to top + ROWS, zeros outside the plane. Then store nine packs for each of the ROWS rows.
    // YOUR CODE: Else rows begin anywhere: one float at a time, and neighbouring lanes store neighbouring floats.
}
