// Blocks of 256 threads in a row; tiles of 16, as flat arrays.
// launch sgemm_v3(A, B, C, m, n, k): grid=(cdiv(n, 16), cdiv(m, 16)) block=256

extern "C" __global__ void sgemm_v3(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float left[256];
    __shared__ float right[256];
    const int line = threadIdx.x / 16, place = threadIdx.x % 16;
    const int i = 16 * blockIdx.y + line;
    const int j = 16 * blockIdx.x + place;
    float acc = 0;
    const int rounds = (k + 15) / 16;
    for (int t = 0; t < rounds; t++) {
        float u = 0, v = 0;
        if (i < m && 16 * t + place < k)
            u = A[i * k + 16 * t + place];
        if (j < n && 16 * t + line < k)
            v = B[(16 * t + line) * n + j];
        left[threadIdx.x] = u;
        right[threadIdx.x] = v;
        __syncthreads();
#pragma unroll
        for (int e = 0; e < 16; e++)
            acc = fmaf(left[16 * line + e], right[16 * e + place], acc);
        __syncthreads();
    }
    if (i < m && j < n)
        C[i * n + j] = acc;
}
