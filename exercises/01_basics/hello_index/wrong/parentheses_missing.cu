// expect: sim=race gpu=wrong
// z * height counts rows, but is not multiplied by their width: the layers lie on top of each other.

// launch index_1d(line, n): grid=cdiv(n, 256) block=256
// launch index_2d(plane, height, width): grid=(cdiv(width, 32), cdiv(height, 8)) block=(32, 8)
// launch index_3d(box, depth, height, width): grid=(cdiv(width, 32), cdiv(height, 4), cdiv(depth, 2)) block=(32, 4, 2)

extern "C" __global__ void index_1d(int* line, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        line[i] = i;
}

extern "C" __global__ void index_2d(int* plane, int height, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        plane[y * width + x] = 1000 * y + x;
}

extern "C" __global__ void index_3d(int* box, int depth, int height, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < width && y < height && z < depth)
        box[z * height + y * width + x] = 1000000 * z + 1000 * y + x;
}
