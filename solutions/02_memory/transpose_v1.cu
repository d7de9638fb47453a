// transpose_v1: out is x with rows and columns exchanged, one thread for each element.
//
// x has `rows` rows of `cols` floats, out has `cols` rows of `rows` floats, both one row after the other.

// launch transpose_v1(x, out, rows, cols): grid=(cdiv(rows, 32), cdiv(cols, 8)) block=(32, 8)

extern "C" __global__ void transpose_v1(const float* x, float* out, int rows, int cols)
{
    // threadIdx.x tells the lanes of a warp apart. They have neighbouring rows of x, which are neighbours in out: the
    // strided side is the load, and the L1 cache keeps what it brought for the block's other seven columns.
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    int c = blockIdx.y * blockDim.y + threadIdx.y;

    // The last blocks of both directions may stick out.
    if (r < rows && c < cols)
        out[c * rows + r] = x[r * cols + c];
}
