// Half as many bytes out as in: what a conversion from 16 to 8 bits moves, without its arithmetic.

extern "C" __global__ void narrow_16_to_8(const uint4* x, uint2* y, long long n)
{
    long long i = blockIdx.x * 1024ll + threadIdx.x;
    uint4 v[4];
#pragma unroll
    for (int r = 0; r < 4; ++r)
        if (i + 256 * r < n)
            v[r] = __ldcs(x + i + 256 * r);
#pragma unroll
    for (int r = 0; r < 4; ++r)
        if (i + 256 * r < n)
            __stcs(y + i + 256 * r, make_uint2(v[r].x ^ v[r].z, v[r].y ^ v[r].w));
}

// A quarter as many bytes out as in: what max pooling by 2 x 2 moves, without its indices.
extern "C" __global__ void narrow_32_to_8(const uint4* x, uint2* y, long long n)
{
    long long i = blockIdx.x * 512ll + threadIdx.x;
    uint4 v[2], u[2];
#pragma unroll
    for (int r = 0; r < 2; ++r)
        if (i + 256 * r < n) {
            v[r] = __ldcs(x + i + 256 * r);
            u[r] = __ldcs(x + n + i + 256 * r);
        }
#pragma unroll
    for (int r = 0; r < 2; ++r)
        if (i + 256 * r < n)
            __stcs(y + i + 256 * r, make_uint2(v[r].x ^ v[r].y ^ u[r].x ^ u[r].y, v[r].z ^ v[r].w ^ u[r].z ^ u[r].w));
}
