// One part read and nine parts written: what im2col with 3 x 3 patches moves, without its neighbours and edges.

extern "C" __global__ void spread_16_to_144(const uint4* x, uint4* y, long long n)
{
    long long i = blockIdx.x * 512ll + threadIdx.x;
    uint4 v[2];
#pragma unroll
    for (int r = 0; r < 2; ++r)
        if (i + 256 * r < n)
            v[r] = x[i + 256 * r];
    // A block writes 8 KiB to each of nine places that are 64 KiB apart, like the rows of a matrix.
    long long group = i / 4096 * 9 * 4096 + i % 4096;
#pragma unroll
    for (int k = 0; k < 9; ++k)
#pragma unroll
        for (int r = 0; r < 2; ++r)
            if (i + 256 * r < n)
                __stcs(y + min(group + 4096 * k + 256 * r, 9 * n - 1), v[r]);
}
