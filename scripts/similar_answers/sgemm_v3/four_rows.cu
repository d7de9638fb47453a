// Each thread computes four rows of one column of a tile.
// launch sgemm_v3(A, B, C, m, n, k): grid=(cdiv(n, 32), cdiv(m, 32)) block=(32, 8)

extern "C" __global__ void sgemm_v3(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float ta[32][32];
    __shared__ float tb[32][33];
    float result[4] = {0, 0, 0, 0};
    const int rowBase = blockIdx.y * 32, column = blockIdx.x * 32 + threadIdx.x;
    for (int depth = 0; depth < k; depth += 32) {
        for (int s = 0; s < 32; s += 8) {
            int row = rowBase + threadIdx.y + s;
            int from = depth + threadIdx.x;
            ta[threadIdx.y + s][threadIdx.x] = (row < m) && (from < k) ? A[row * k + from] : 0;
            from = depth + threadIdx.y + s;
            tb[threadIdx.y + s][threadIdx.x] = (column < n) && (from < k) ? B[from * n + column] : 0;
        }
        __syncthreads();
        for (int e = 0; e < 32; ++e) {
            float factor = tb[e][threadIdx.x];
            for (int s = 0; s < 4; ++s)
                result[s] += ta[threadIdx.y + 8 * s][e] * factor;
        }
        __syncthreads();
    }
    for (int s = 0; s < 4; ++s) {
        int row = rowBase + threadIdx.y + 8 * s;
        if (row < m && column < n)
            C[row * n + column] = result[s];
    }
}
