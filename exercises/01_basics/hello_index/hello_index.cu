// hello_index: every thread finds the element that is its own, and writes there where it is.
//
// `grade hello_index` reads the three launch lines below and launches your kernels with as many blocks as they say.
// Blocks come whole, so there are nearly always a few more threads than elements.

// launch index_1d(line, n): grid=cdiv(n, 256) block=256
// launch index_2d(plane, height, width): grid=(cdiv(width, 32), cdiv(height, 8)) block=(32, 8)
// launch index_3d(box, depth, height, width): grid=(cdiv(width, 32), cdiv(height, 4), cdiv(depth, 2)) block=(32, 4, 2)

// A row of n elements. Element i becomes i.
extern "C" __global__ void index_1d(int* line, int n)
{
    // YOUR CODE: i, from blockIdx.x, blockDim.x and threadIdx.x. If there is an element i, then line[i] = i.
}

// A plane of height rows with width elements each, row after row. The one in row y, column x becomes 1000 * y + x.
extern "C" __global__ void index_2d(int* plane, int height, int width)
{
    // YOUR CODE: x as above; y in the same way from the .y of all three. Where in plane is row y, column x?
}

// A box of depth layers, each a plane. The element in layer z, row y, column x becomes 1000000 * z + 1000 * y + x.
extern "C" __global__ void index_3d(int* box, int depth, int height, int width)
{
    // YOUR CODE: x, y and z. How many whole planes lie before layer z, and how many whole rows before row y?
}
