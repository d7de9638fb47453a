// expect: sim=technique gpu=slow
// Right, but with dp4a: the tensor cores have nothing to do. And each thread reads its own lines from global memory.

#define TM 4
#define TN 4

// launch igemm_mma(A, B, C, m, n, k): grid=(cdiv(n, 16 * TN), cdiv(m, 16 * TM)) block=(16, 16)

extern "C" __global__ void igemm_mma(const signed char* A, const signed char* B, int* C, int m, int n, int k)
{
    int row = (blockIdx.y * 16 + threadIdx.y) * TM;
    int col = (blockIdx.x * 16 + threadIdx.x) * TN;
    if (col >= n)
        return;

    int sum[TM][TN] = {};
#pragma unroll 1
    for (int at = 0; at < k; at += 4) {
        int a[TM], b[TN];
#pragma unroll
        for (int i = 0; i < TM; ++i)
            a[i] = row + i < m ? *reinterpret_cast<const int*>(A + (size_t)(row + i) * k + at) : 0;
#pragma unroll
        for (int j = 0; j < TN; ++j)
            b[j] = *reinterpret_cast<const int*>(B + (size_t)(col + j) * k + at);
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
            for (int j = 0; j < TN; ++j)
                sum[i][j] = __dp4a(a[i], b[j], sum[i][j]);
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
            if (row + i < m)
                C[(size_t)(row + i) * n + col + j] = sum[i][j];
}
