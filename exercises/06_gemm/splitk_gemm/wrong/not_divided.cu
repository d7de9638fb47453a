// expect: sim=technique gpu=slow
// Tiles and asynchronous copies, but k is not divided: one block computes a 64 × 64 C alone.

#include <cuda_pipeline.h>

#define BM 64         // rows of a tile of C
#define BN 64         // columns of a tile of C
#define BK 32         // elements along k in one step: what lies in shared memory at a time
#define TM 8          // rows of the tile that belong to a thread
#define TN 8          // columns of the tile that belong to a thread
#define THREADS 64    // (BM / TM) * (BN / TN): two warps for each tile
#define PLACES 6      // blocks that fit on a multiprocessor of an H200: 64 threads with 168 registers, 34 KiB

// launch splitk_gemm(A, B, C, m, n, k): grid=(cdiv(n, BN), cdiv(m, BM)) block=THREADS

static_assert(THREADS == (BM / TM) * (BN / TN), "a thread has TM * TN elements of the tile: THREADS does not fit");
static_assert(TN == 8 && BN == 64, "a thread has two float4s of each row, 32 columns apart");
static_assert(BM * BK % (4 * THREADS) == 0 && BK * BN % (4 * THREADS) == 0, "each thread fetches whole float4s");

struct Stage {
    float a[BM][BK + 4];
    float b[BK][BN];
};

__device__ void fetch16(float* to, const float* from, bool inside)
{
    __pipeline_memcpy_async(to, from, 16, inside ? 0 : 16);
}

__device__ void fetch(Stage& stage, const float* A, const float* B, int m, int n, int k, int k0)
{
    int row = threadIdx.x / (BK / 4);
    int col = threadIdx.x % (BK / 4) * 4;
    int rows = k0 + col < k ? m - (int)blockIdx.y * BM : 0;
    const float* from = A + (size_t)(blockIdx.y * BM + row) * k + k0 + col;
#pragma unroll
    for (int r = 0; r < BM; r += THREADS / (BK / 4)) {
        fetch16(&stage.a[row + r][col], from, row + r < rows);
        from += (size_t)(THREADS / (BK / 4)) * k;
    }

    row = threadIdx.x / (BN / 4);
    col = threadIdx.x % (BN / 4) * 4;
    rows = blockIdx.x * BN + col < n ? k - k0 : 0;
    from = B + (size_t)(k0 + row) * n + blockIdx.x * BN + col;
#pragma unroll
    for (int r = 0; r < BK; r += THREADS / (BN / 4)) {
        fetch16(&stage.b[row + r][col], from, row + r < rows);
        from += (size_t)(THREADS / (BN / 4)) * n;
    }
}

__device__ void multiply(const Stage& stage, int tx, int ty, float (&sum)[TM][TN])
{
#pragma unroll 1
    for (int l = 0; l < BK; l += 4) {
        float a[TM][4];
#pragma unroll
        for (int i = 0; i < TM; ++i)
            *reinterpret_cast<float4*>(a[i]) = *reinterpret_cast<const float4*>(&stage.a[ty + BM / TM * i][l]);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float b[TN];
            *reinterpret_cast<float4*>(b) = *reinterpret_cast<const float4*>(&stage.b[l + j][4 * tx]);
            *reinterpret_cast<float4*>(b + 4) = *reinterpret_cast<const float4*>(&stage.b[l + j][32 + 4 * tx]);
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int c = 0; c < TN; ++c)
                    sum[i][c] = fmaf(a[i][j], b[c], sum[i][c]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, PLACES)
splitk_gemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ __align__(16) Stage stages[2];

    int tx = threadIdx.x / 2 % 8;
    int ty = threadIdx.x % 2 + threadIdx.x / 16 * 2;

    int steps = (k + BK - 1) / BK;
    int first = 0;
    int last = steps;

    float sum[TM][TN] = {};
    fetch(stages[0], A, B, m, n, k, first * BK);
    __pipeline_commit();

#pragma unroll 1
    for (int step = first; step < last; ++step) {
        __pipeline_wait_prior(0);

        __syncthreads();
        if (step + 1 < last)
            fetch(stages[(step + 1 - first) % 2], A, B, m, n, k, (step + 1) * BK);
        __pipeline_commit();

        multiply(stages[(step - first) % 2], tx, ty, sum);
    }

    float* part = C;
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        int row = blockIdx.y * BM + ty + BM / TM * i;
#pragma unroll
        for (int c = 0; c < TN; c += 4) {
            int col = blockIdx.x * BN + 8 * c + 4 * tx;
            if (row < m && col < n)
                *reinterpret_cast<float4*>(&part[(size_t)row * n + col]) =
                    make_float4(sum[i][c], sum[i][c + 1], sum[i][c + 2], sum[i][c + 3]);
        }
    }
}
