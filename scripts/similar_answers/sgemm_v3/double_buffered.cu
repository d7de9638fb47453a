// Two pairs of tiles: one is filled while the other one is used, so that a round needs one barrier.
// launch sgemm_v3(A, B, C, m, n, k): grid=(cdiv(n, 32), cdiv(m, 32)) block=(32, 32)

constexpr int W = 32;

__device__ float fetch(const float* M, int r, int c, int rows, int cols)
{
    return (r < rows && c < cols) ? M[(size_t)r * cols + c] : 0.f;
}

extern "C" __global__ void sgemm_v3(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float As[2][W][W], Bs[2][W][W];
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * W + y, c = blockIdx.x * W + x;
    int now = 0;
    As[0][y][x] = fetch(A, r, x, m, k);
    Bs[0][y][x] = fetch(B, y, c, k, n);
    float value = 0.f;
    for (int p = W; p < k + W; p += W, now ^= 1) {
        __syncthreads();
        if (p < k) {
            As[now ^ 1][y][x] = fetch(A, r, p + x, m, k);
            Bs[now ^ 1][y][x] = fetch(B, p + y, c, k, n);
        }
        for (int q = 0; q < W; ++q)
            value += As[now][y][q] * Bs[now][q][x];
    }
    if (r < m && c < n)
        C[(size_t)r * n + c] = value;
}
