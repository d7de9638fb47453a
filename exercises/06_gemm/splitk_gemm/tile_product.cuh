// Given with splitk_gemm: the product of a tile of C over a part of k. It is the pipeline of the chapter: float4 copies by
// cp.async into a ring of stages, 8 × 8 sums a thread, lanes in squares. Splitting k is not its business: that is yours.
// Read it, and include it; `grade` always compiles the course's own copy.

#pragma once

#include <cuda_pipeline.h>

constexpr int BM = 64;      // rows of a tile of C
constexpr int BN = 64;      // columns of a tile of C
constexpr int BK = 32;      // elements along k in one step: what a stage in shared memory holds
constexpr int TM = 8;       // rows of the tile that belong to a thread
constexpr int TN = 8;       // columns of the tile that belong to a thread
constexpr int GROUPS = 2;   // groups of threads in a block: each has the whole tile, and its share of every step
constexpr int STAGES = 3;   // one is multiplied, the others are on their way

// 64 threads are enough for the tile, and a block has two such groups. The first one multiplies elements 0 to 15 of each
// step, the second one 16 to 31, and at the end the block adds up their sums: that is split-K inside of a block. Two
// blocks of 64 threads would need memory for twice as many stages, and write twice as many parts.
constexpr int ACROSS = BN / TN;          // threads of a group side by side in the tile
constexpr int GROUP = BM / TM * ACROSS;  // threads of a group: two warps
constexpr int THREADS = GROUPS * GROUP;  // of a block: tile_product is called by all of them

// What a thread fetches in one step, one float4 each time. Of A, BK / 4 neighbouring threads take a row of the piece,
// and the block A_ROWS rows at once. Of B, BN / 4 threads take a row, and the block B_ROWS rows.
constexpr int A_ROWS = THREADS / (BK / 4), A_LOADS = BM / A_ROWS;
constexpr int B_ROWS = THREADS / (BN / 4), B_LOADS = BK / B_ROWS;

// One step's piece of A and of B. The rows of A are 16 bytes longer than they need to be: then the float4s that a warp
// reads, from neighbouring rows, lie in different banks.
struct Stage {
    float a[BM][BK + 4];
    float b[BK][BN];
};

constexpr int SHARED = STAGES * sizeof(Stage);  // bytes of shared memory that a launch line has to ask for

static_assert(GROUP % 32 == 0 && ACROSS % 2 == 0, "a group is made of whole warps, a warp of squares of 2 × 2 lanes");
static_assert(TN % 4 == 0 && BK % (4 * GROUPS) == 0, "everything is moved in float4");
static_assert(A_LOADS * A_ROWS == BM && B_LOADS * B_ROWS == BK, "each thread fetches the same number of float4s");
static_assert(TM % GROUPS == 0, "at the end each group adds up TM / GROUPS of a thread's rows");
static_assert(4 * GROUPS * BM * BN <= SHARED, "at the end the groups' sums take the place of the stages");

// How many steps there are along all of k: the last one ends with k, so the first one may begin before k = 0.
__device__ inline int step_count(int k)
{
    return (k - 1) / BK + 1;
}

// The product of a tile's rows of A, from row0 on, and its columns of B, from col0 on, over the steps first to last - 1
// along k. For each four sums that are neighbours in a row of C, and lie inside of it, one thread calls
// put(row, col, sums): row and col are those of C, and sums is a float4. All threads of the block call this together;
// shared memory may be used again after it has returned.
template <class Put>
__device__ void tile_product(const float* A, const float* B, int m, int n, int k, int row0, int col0, int first,
                             int last, Put put)
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
    int before = (BK - k % BK) % BK;

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
                put(row, col, total);
        }
    }

    // Barrier: all are done with shared memory.
    __syncthreads();
}
