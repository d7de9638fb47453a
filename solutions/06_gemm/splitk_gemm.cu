// splitk_gemm: C = A · B in fp32, where C is small and k is huge: the sums are divided among blocks.
//
// All matrices are row-major; n and k are multiples of 4. A block computes one tile of C, but only over its slice of
// k: it gets a part of each sum. The parts of all slices lie one after the other in `partial`, m * n floats each, and
// a second launch adds them up.

#include <cuda_pipeline.h>

#define BM 64         // rows of a tile of C
#define BN 64         // columns of a tile of C
#define BK 32         // elements along k in one step: what a stage in shared memory holds
#define TM 8          // rows of the tile that belong to a thread
#define TN 8          // columns of the tile that belong to a thread
#define GROUPS 2      // groups of threads in a block: each has the whole tile, and its share of every step
#define STAGES 3      // one is multiplied, the others are on their way
#define PLACES 3      // blocks that fit on a multiprocessor of an H200: 128 threads with 168 registers, 51 KiB
#define SHORTEST 128  // no slice for fewer elements along k: its part of C has to be written and read again

constexpr int ACROSS = BN / TN;          // threads of a group side by side in the tile
constexpr int GROUP = BM / TM * ACROSS;  // threads of a group: two warps
constexpr int THREADS = GROUPS * GROUP;
constexpr int SHARED = STAGES * 4 * (BM * (BK + 4) + BK * BN);

// What a thread fetches in one step, one float4 each time. Of A, BK / 4 neighbouring threads take a row of the piece,
// and the block A_ROWS rows at once. Of B, BN / 4 threads take a row, and the block B_ROWS rows.
constexpr int A_ROWS = THREADS / (BK / 4), A_LOADS = BM / A_ROWS;
constexpr int B_ROWS = THREADS / (BN / 4), B_LOADS = BK / B_ROWS;

// A block for each place on the GPU. The tiles of C share these places, and each makes as many slices as it gets.
// scratch partial: float[cdiv(PLACES * sm_count, cdiv(m, BM) * cdiv(n, BN)) * m * n]
// launch splitk_gemm(A, B, partial, m, n, k): grid=PLACES * sm_count block=THREADS shared=SHARED
// launch add_slices(partial, C, m, n, k, PLACES * sm_count): grid=cdiv(m * n, 32) block=(32, 32)

static_assert(GROUP % 32 == 0 && ACROSS % 2 == 0, "a group is made of whole warps, a warp of squares of 2 × 2 lanes");
static_assert(TN % 4 == 0 && BK % (4 * GROUPS) == 0, "everything is moved in float4");
static_assert(A_LOADS * A_ROWS == BM && B_LOADS * B_ROWS == BK, "each thread fetches the same number of float4s");
static_assert(TM % GROUPS == 0, "at the end each group adds up TM / GROUPS of a thread's rows");
static_assert(4 * GROUPS * BM * BN <= SHARED, "at the end the groups' sums take the place of the stages");

// One step's piece of A and of B. The rows of A are 16 bytes longer than they need to be: then the float4s that a warp
// reads, from neighbouring rows, lie in different banks.
struct Stage {
    float a[BM][BK + 4];
    float b[BK][BN];
};

static_assert(STAGES * sizeof(Stage) == SHARED, "the launch line asks for all stages");

// How many slices share `places` blocks: as many as there are for each tile, but none that is not worth its part.
__device__ int slice_count(int tiles, int k, int places)
{
    return max(1, min(places / tiles, (k + SHORTEST - 1) / SHORTEST));
}

// The product of a tile's rows of A, from row0 on, and its columns of B, from col0 on, over the steps first to last - 1
// along k. The sums go to `part`, which has the shape of C. A step has BK elements, and the last of all ends with k: so
// the first of all may begin before k = 0.
__device__ void multiply(const float* A, const float* B, float* part, int m, int n, int k, int row0, int col0,
                         int first, int last)
{
    extern __shared__ __align__(16) Stage stages[];

    // What this thread fetches. Past the last row of A it takes the last one again, and so with the columns of B:
    // these products belong to elements that C does not have.
    int ar = threadIdx.x / (BK / 4), ac = threadIdx.x % (BK / 4) * 4;
    int br = threadIdx.x / (BN / 4), bc = threadIdx.x % (BN / 4) * 4;
    const float* from_a[A_LOADS];
#pragma unroll
    for (int i = 0; i < A_LOADS; ++i)
        from_a[i] = A + (size_t)min(row0 + ar + i * A_ROWS, m - 1) * k;
    const float* from_b = B + min(col0 + bc, n - 4);
    int before = (k + BK - 1) / BK * BK - k;

    // Starts to copy a step's pieces into shared memory, past the registers. Before k = 0 there are zeros: nothing is
    // read for them, and their address is that of k = 0, because no pointer may lie outside of its array. Only a slice's
    // first step can begin there, so the copies in the loop need no condition.
    auto fetch = [&](Stage& stage, int step, bool may_begin_before) {
        int l0 = step * BK - before;
        int la = l0 + ac;
        bool none = may_begin_before && la < 0;
#pragma unroll
        for (int i = 0; i < A_LOADS; ++i)
            __pipeline_memcpy_async(&stage.a[ar + i * A_ROWS][ac], from_a[i] + (none ? 0 : la), 16, none ? 16 : 0);
#pragma unroll
        for (int i = 0; i < B_LOADS; ++i) {
            int l = l0 + br + i * B_ROWS;
            bool none = may_begin_before && l < 0;
            __pipeline_memcpy_async(&stage.b[br + i * B_ROWS][bc], from_b + (none ? 0 : (size_t)l * n), 16,
                                    none ? 16 : 0);
        }
    };

    // What it multiplies: rows ty, ty + BM / TM, … of the tile; of its columns four from 4 * tx on, four more that lie
    // 4 * ACROSS further on, …. Lanes 0 to 3 are a square of 2 × 2: neighbours have the same columns, lanes 0 and 2
    // the same rows. Shared memory serves neighbours that read the same words in one go.
    int group = threadIdx.x / GROUP, u = threadIdx.x % GROUP;
    int tx = u / 2 % ACROSS;
    int ty = u / (2 * ACROSS) * 2 + u % 2;
    float sum[TM][TN] = {};

#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        if (first + s < last)
            fetch(stages[s], first + s, s == 0);
        __pipeline_commit();
    }

    int now = 0;
#pragma unroll 1
    for (int step = first; step < last; ++step) {
        // What this thread has fetched for this step has arrived …
        __pipeline_wait_prior(STAGES - 2);

        // … and after the barrier, what all others have. It also means that all are done with the stage that was
        // multiplied in the step before and is filled again now.
        __syncthreads();
        if (step + STAGES - 1 < last)
            fetch(stages[now == 0 ? STAGES - 1 : now - 1], step + STAGES - 1, false);
        __pipeline_commit();

        // The group's share of the step, four elements along k at a time, because they are a float4 of A.
        const Stage& stage = stages[now];
#pragma unroll 1
        for (int l = group * (BK / GROUPS); l < (group + 1) * (BK / GROUPS); l += 4) {
            float a[TM][4];
#pragma unroll
            for (int i = 0; i < TM; ++i)
                *reinterpret_cast<float4*>(a[i]) = *reinterpret_cast<const float4*>(&stage.a[ty + BM / TM * i][l]);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                float b[TN];
#pragma unroll
                for (int c = 0; c < TN; c += 4)
                    *reinterpret_cast<float4*>(b + c) =
                        *reinterpret_cast<const float4*>(&stage.b[l + j][ACROSS * c + 4 * tx]);
#pragma unroll
                for (int i = 0; i < TM; ++i)
#pragma unroll
                    for (int c = 0; c < TN; ++c)
                        sum[i][c] = fmaf(a[i][j], b[c], sum[i][c]);
            }
        }
        now = now == STAGES - 1 ? 0 : now + 1;
    }

    // Barrier: all are done with the stages. Now the groups' sums take their place, one float at a time: neighbouring
    // threads write neighbouring words.
    __syncthreads();
    float(*sums)[TM * TN][GROUP] = reinterpret_cast<float(*)[TM * TN][GROUP]>(stages);
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int c = 0; c < TN; ++c)
            sums[group][i * TN + c][u] = sum[i][c];

    // Barrier: all groups' sums are there. Each group adds up some of the rows.
    __syncthreads();
#pragma unroll 1
    for (int i = group * (TM / GROUPS); i < (group + 1) * (TM / GROUPS); ++i) {
        int row = row0 + ty + BM / TM * i;
#pragma unroll
        for (int c = 0; c < TN; c += 4) {
            int col = col0 + ACROSS * c + 4 * tx;
            float4 total = {};
#pragma unroll
            for (int g = 0; g < GROUPS; ++g) {
                total.x += sums[g][i * TN + c][u];
                total.y += sums[g][i * TN + c + 1][u];
                total.z += sums[g][i * TN + c + 2][u];
                total.w += sums[g][i * TN + c + 3][u];
            }
            if (row < m && col < n)
                *reinterpret_cast<float4*>(&part[(size_t)row * n + col]) = total;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, PLACES)
splitk_gemm(const float* A, const float* B, float* partial, int m, int n, int k)
{
    int across = (n + BN - 1) / BN;
    int tiles = (m + BM - 1) / BM * across;
    int slices = slice_count(tiles, k, gridDim.x);

    // A block has one slice of one tile, or nothing to do. Only if C has more tiles than the grid, it has several.
    for (int i = blockIdx.x; i < tiles * slices; i += gridDim.x) {
        int tile = i % tiles;
        int slice = i / tiles;

        // All of k, in steps of BK.
        int steps = (k + BK - 1) / BK;
        int first = 0;
        int last = steps;

        // The slice's bounds are rounded in the same way, so that each slice ends where the next one begins; none is
        // longer than another by more than a step. steps * slices may pass 2^31.
        first = (long long)steps * slice / slices;
        last = (long long)steps * (slice + 1) / slices;

        // Each slice has its own m * n floats, so no two blocks write to the same place.
        multiply(A, B, partial + (size_t)slice * m * n, m, n, k, tile / across * BM, tile % across * BN, first, last);

        // Barrier: all are done with shared memory, before it is filled again.
        __syncthreads();
    }
}

// C = the sum of the slices' parts. A block has 32 elements of C, side by side along x; 32 threads along y share the
// slices among them. The order of the additions follows from the indices alone: same input, same bits.
extern "C" __global__ void __launch_bounds__(1024)
add_slices(const float* partial, float* C, int m, int n, int k, int places)
{
    __shared__ float sums[32][32];
    int count = m * n;
    int slices = slice_count((m + BM - 1) / BM * ((n + BN - 1) / BN), k, places);
    int i = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;

    // A warp is a row of the block: its lanes read neighbouring elements of one slice.
    if (i < count) {
#pragma unroll 8
        for (int s = threadIdx.y; s < slices; s += 32)
            sum += partial[(size_t)s * count + i];
    }
    sums[threadIdx.y][threadIdx.x] = sum;

    // Barrier: the first warp reads the words of all warps.
    __syncthreads();

    if (threadIdx.y == 0 && i < count) {
        sum = 0.0f;
#pragma unroll
        for (int y = 0; y < 32; ++y)
            sum += sums[y][threadIdx.x];
        C[i] = sum;
    }
}
