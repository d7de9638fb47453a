// transpose_v1: out is x with rows and columns exchanged, one thread for each element.
//
// x has `rows` rows of `cols` floats, out has `cols` rows of `rows` floats, both one row after the other.

// launch transpose_v1(x, out, rows, cols): grid=(cdiv(rows, 32), cdiv(cols, 8)) block=(32, 8)

extern "C" __global__ void transpose_v1(const float* x, float* out, int rows, int cols)
{
    // YOUR CODE: the row r and the column c of this thread's element. On which side may the lanes of a warp lie apart?

    // YOUR CODE: move the element, if there is one.
}
