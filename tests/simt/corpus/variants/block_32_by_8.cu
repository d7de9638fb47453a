// expect: pass
// A two-dimensional block: rows first, then the row of sums.

// scratch ping, pong: float[cdiv(n, 256)]
// passes m=n until 1 by cdiv(m, 256): reduce(src, dst, m): grid=cdiv(m, 256) block=(32, 8)

extern "C" __global__ void reduce(const float* src, float* dst, int m)
{
    __shared__ float tile[8][33];
    int x = threadIdx.x, y = threadIdx.y;
    int i = (blockIdx.x * 8 + y) * 32 + x;
    tile[y][x] = i < m ? src[i] : 0.0f;
    __syncthreads();
    for (int s = 4; s > 0; s /= 2) {
        if (y < s)
            tile[y][x] += tile[y + s][x];
        __syncthreads();
    }
    if (y == 0) {
        float v = tile[0][x];
        for (int s = 16; s > 0; s /= 2)
            v += __shfl_down_sync(0xffffffff, v, s);
        if (x == 0)
            dst[blockIdx.x] = v;
    }
}
