// expect: technique
// A thread walks down one column and keeps three rows of its patch. Few loads, but each store has 4 bytes a lane.

// im2col, a thread for eight places of a column.

// launch im2col(x, y, h, w): grid=(planes, cdiv(h, 8), cdiv(w, 64)) block=64

extern "C" __global__ void im2col(const float* x, float* y, int h, int w)
{
    int c = blockIdx.z * 64 + threadIdx.x, top = blockIdx.y * 8;
    x += (size_t)blockIdx.x * h * w;
    y += (size_t)blockIdx.x * 9 * h * w;
    if (c >= w)
        return;
    float v[10][3];
#pragma unroll
    for (int i = 0; i < 10; ++i)
#pragma unroll
        for (int j = 0; j < 3; ++j) {
            int r = top + i - 1, s = c + j - 1;
            v[i][j] = 0 <= r && r < h && 0 <= s && s < w ? x[r * w + s] : 0.0f;
        }
#pragma unroll
    for (int u = 0; u < 8; ++u)
#pragma unroll
        for (int k = 0; k < 9; ++k)
            if (top + u < h)
                y[(k * h + top + u) * w + c] = v[u + k / 3][k % 3];
}
