// hgemm_wgmma_v1: C = A · B with wgmma, one stage at a time: TMA fetches it, four warps multiply it at once.
//
// All matrices are row-major; m, n and k are multiples of 16, and of no tile: what a copy reads outside of a matrix is
// zero.
//
// A block is one warpgroup, 128 threads, and has one tile of C. Its sums are in registers. Three blocks share a
// multiprocessor: while one waits for its stage, the others multiply.

// tensor_map a_tiles = A: shape=(m, k) box=(BM, BK) swizzle=128
// tensor_map b_tiles = B: shape=(k, n) box=(BK, BOX_N) swizzle=128
// launch hgemm_wgmma_v1(a_tiles, b_tiles, C, m, n, k): grid=cdiv(m, BM) * cdiv(n, BN) block=128 shared=SHARED_BYTES

#include "tma.cuh"  // mbarriers and TMA

#define BM 64     // rows of a block's tile of C: the 64 rows of a wgmma
#define BN 256    // its columns
#define BK 64     // steps along k in one stage: 64 halves are the 128 bytes of the swizzle
#define BOX_N 64  // columns of B in one copy, for the same reason
#define GROUP 32  // rows of tiles that are worked on together, so that the columns of B are found in L2

#define A_BYTES (BM * BK * 2)
#define BOX_BYTES (BK * BOX_N * 2)
#define STAGE_BYTES (A_BYTES + BN / BOX_N * BOX_BYTES)
#define SHARED_BYTES (1024 + STAGE_BYTES)

static_assert(BM == 64 && BN == 256, "a wgmma is 64 rows high and 256 columns wide");
static_assert(BK == 64 && BOX_N == 64, "rows of 128 bytes in shared memory");

// --------------------------------------------------------------------------------- wgmma: a warpgroup multiplies at once

// What a wgmma is told of a matrix in shared memory: where it begins, two distances, and the swizzle. The distances
// count from one 8 × 128-byte piece, which the swizzle permutes, to the next:
//   A, rows of k       `stride` to the next 8 rows; one piece is wide enough, `leading` is not used
//   B, rows of n       `stride` to the next 8 steps of k, `leading` to the next 64 columns
__device__ unsigned long long descriptor(unsigned address, unsigned leading, unsigned stride)
{
    unsigned long long in_16_bytes = (address & 0x3FFFF) >> 4;
    // YOUR CODE: `leading` in bits 16 to 29, `stride` in bits 32 to 45, both in units of 16 bytes
    return in_16_bytes | 1ull << 62;  // swizzle of 128 bytes
}

// From here on, wgmma may read the registers and shared memory.
__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// Everything started since the last commit is one group.
__device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits until at most `PENDING` groups still run.
template <int PENDING>
__device__ void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// The compiler does not know that a wgmma goes on writing `d`: here it learns that `d` is only now what it is.
__device__ void settle(float (&d)[BN / 2])
{
#pragma unroll
    for (int i = 0; i < BN / 2; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
}

#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)

// d = a · b, plus d if `add`: 64 rows, 256 columns, 16 steps of k. Only starts it. The last two numbers of the
// instruction say how the matrices lie: 0, A in rows of k; 1, B in rows of n.
__device__ __forceinline__ void wgmma(float (&d)[BN / 2], unsigned long long a, unsigned long long b, int add)
{
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
        " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
        " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
        " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63,"
        " %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79,"
        " %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95,"
        " %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111,"
        " %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127},"
        " %128, %129, p, 1, 1, 0, 1;\n"
        "}"
        : D16(0), D16(16), D16(32), D16(48), D16(64), D16(80), D16(96), D16(112)
        : "l"(a), "l"(b), "r"(add));
}

// ------------------------------------------------------------------------------------------------------------- the tiles

// The first row and column of a tile. The blocks that run at the same time have GROUP rows of tiles, column by column: a
// region that is about as high as wide, for which the fewest rows of A and columns of B are fetched.
__device__ void place(int tile, int tile_rows, int tile_cols, int& row, int& col)
{
    int group = tile / (GROUP * tile_cols), at = tile % (GROUP * tile_cols);
    int height = min(GROUP, tile_rows - group * GROUP);
    row = (group * GROUP + at % height) * BM;
    col = at / height * BN;
}

// A warpgroup writes its 64 × 256 sums, whose first is C's element (row, col). Of every 8 columns a lane has 2 neighbours,
// in row lane / 4 of its warp's 16 rows and 8 rows below: 8 bytes a lane, and 4 lanes fill a sector.
__device__ __forceinline__ void store(float* C, const float (&d)[BN / 2], int row, int col, int m, int n)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    int r = row + 16 * warp + lane / 4, c = col + lane % 4 * 2;
    float* to = C + (size_t)r * n + c;
#pragma unroll
    for (int i = 0; i < BN / 8; ++i)
        if (c + 8 * i < n) {
            if (r < m)
                *(float2*)(to + 8 * i) = make_float2(d[4 * i], d[4 * i + 1]);
            if (r + 8 < m)
                *(float2*)(to + 8 * (size_t)n + 8 * i) = make_float2(d[4 * i + 2], d[4 * i + 3]);
        }
}

extern "C" __global__ void __launch_bounds__(128, 3)
hgemm_wgmma_v1(const __grid_constant__ CUtensorMap a_tiles, const __grid_constant__ CUtensorMap b_tiles, float* C, int m,
               int n, int k)
{
    // The stage: a tile of A and, after it, the boxes of B. The swizzle goes by address and repeats every 1024 bytes: the
    // tiles must begin on such a boundary.
    extern __shared__ unsigned char memory[];
    unsigned a = (shared_address(memory) + 1023) / 1024 * 1024, b = a + A_BYTES;

    // full: the copies of the stage have arrived.
    __shared__ unsigned long long full_barrier;
    unsigned full = shared_address(&full_barrier);

    if (threadIdx.x == 0) {
        barrier_init(full, 1);  // one arrival: the promise of the bytes
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // TMA must see it, too
    }
    __syncthreads();  // nobody may wait at a barrier before it exists

    int row, col;
    place(blockIdx.x, (m + BM - 1) / BM, (n + BN - 1) / BN, row, col);
    int steps = (k + BK - 1) / BK;

    float d[BN / 2];  // 64 × 256 sums, over 128 threads
    for (int step = 0; step < steps; ++step) {
        if (threadIdx.x == 0) {
            // YOUR CODE: promise the stage's bytes, and start its five copies
        }
        // YOUR CODE: wait until the stage is there; start four wgmmas, 16 steps of k each, as one group
        // YOUR CODE: when may the stage be filled again, and who has to know?
    }
    settle(d);
    store(C, d, row, col, m, n);
}
