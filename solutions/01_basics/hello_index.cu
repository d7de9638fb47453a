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
    // Before this thread stand blockIdx.x whole blocks of blockDim.x threads, and threadIdx.x threads of its own block.
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    // The last block may stick out: its surplus threads have no element, and must not write.
    if (i < n)
        line[i] = i;
}

// A plane of height rows with width elements each, row after row. The one in row y, column x becomes 1000 * y + x.
extern "C" __global__ void index_2d(int* plane, int height, int width)
{
    // The same formula for each axis. x is the fast one: neighbouring threads are neighbours along x, as elements are.
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;

    // Blocks stick out to the right and at the bottom, so both are tested. A test of the index alone is not enough:
    // with x == width it would be the first element of the next row, which is another thread's.
    if (x < width && y < height)
        plane[y * width + x] = 1000 * y + x;
}

// A box of depth layers, each a plane. The element in layer z, row y, column x becomes 1000000 * z + 1000 * y + x.
extern "C" __global__ void index_3d(int* box, int depth, int height, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;

    // z layers of height rows lie before this layer, then y rows of width elements, then x elements.
    if (x < width && y < height && z < depth)
        box[(z * height + y) * width + x] = 1000000 * z + 1000 * y + x;
}
