// particles holds n records of four fields: its element 4 * i + f is element i of plane f.

__device__ double field(const float* planes, long long index, long long n)
{
    return planes[index % 4 * n + index / 4];
}
