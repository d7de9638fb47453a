// debug_me_3: the length of every row of an embedding table, the square root of the sum of its squares. One warp a row.
//
// bug: ?   YOUR CODE: the line of this file, as you got it, where the bug is. Fix the kernel below.

constexpr int WARPS = 8;

// launch row_length(x, out, rows, cols): grid=cdiv(rows, WARPS) block=32*WARPS

// The sum over a warp, in all lanes. All 32 lanes must take part.
__device__ float warp_sum(float v)
{
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xffffffff, v, s);
    return v;
}

// The squares of a lane's elements of one row: every 32nd.
__device__ float squares_of(const float* row, int cols)
{
    float sum = 0.0f;
    for (int i = threadIdx.x % 32; i < cols; i += 32)
        sum += row[i] * row[i];
    return sum;
}

extern "C" __global__ void row_length(const float* x, float* out, int rows, int cols)
{
    int row = blockIdx.x * WARPS + threadIdx.x / 32;
    if (row >= rows)
        return;  // a whole warp: its lanes have the same row

    // The table may have more than 2^31 elements: its offsets have 64 bits.
    size_t begin = (size_t)(row * cols);
    float sum = warp_sum(squares_of(x + begin, cols));
    if (threadIdx.x % 32 == 0)
        out[row] = sqrtf(sum);
}
