// hgemm_wgmma_v3: C = A · B with blocks that stay: they take tile after tile, and write one while the next is fetched.
//
// All matrices are row-major; m, n and k are multiples of 16, and of no tile: what a copy reads outside of a matrix is
// zero, and what it writes there is dropped.
//
// A block is three warpgroups of 128 threads. Warpgroup 0 is the producer: one thread of it starts all copies of A and
// B. Warpgroups 1 and 2 are the consumers: each multiplies 64 of the tile's 128 rows, and keeps the sums in registers.

// tensor_map a_tiles = A: shape=(m, k) box=(BM, BK) swizzle=128
// tensor_map b_tiles = B: shape=(k, n) box=(BK, BOX_N) swizzle=128
// tensor_map c_tiles = C: shape=(m, n) box=(64, OUT_N) swizzle=128
// launch hgemm_wgmma_v3(a_tiles, b_tiles, c_tiles, m, n, k): grid=min(sm_count, cdiv(m, BM) * cdiv(n, BN)) block=384 shared=SHARED_BYTES

#include <cuda.h>  // CUtensorMap

#define BM 128    // rows of a block's tile of C
#define BN 256    // its columns
#define BK 64     // steps along k in one stage: 64 halves are the 128 bytes of the swizzle
#define BOX_N 64  // columns of B in one copy, for the same reason
#define OUT_N 32  // columns of C in one copy: 32 floats are 128 bytes, too
#define STAGES 4  // tiles of A and B that are on their way or in use
#define GROUP 16  // rows of tiles that are worked on together, so that the columns of B are found in L2

#define A_BYTES (BM * BK * 2)
#define BOX_BYTES (BK * BOX_N * 2)
#define STAGE_BYTES (A_BYTES + BN / BOX_N * BOX_BYTES)
#define OUT_BYTES (64 * OUT_N * 4)
#define SHARED_BYTES (1024 + STAGES * STAGE_BYTES + 4 * OUT_BYTES)

static_assert(BM == 128, "two consumers, and the 64 rows of a wgmma for each");
static_assert(BN == 256, "a wgmma is 256 columns wide");
static_assert(BK == 64 && BOX_N == 64 && OUT_N == 32, "rows of 128 bytes in shared memory");

// ------------------------------------------------------------------------------- mbarriers: addresses in shared memory

__device__ unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

__device__ void barrier_init(unsigned barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// One arrival, and the promise of `bytes` that copies will bring: the phase ends when both have come.
__device__ void barrier_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ void barrier_arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Waits for the end of a phase. Phases are numbered by their lowest bit only: 0, 1, 0, 1 … A barrier that has ended no
// phase yet lets through whoever waits for parity 1.
__device__ void barrier_wait(unsigned barrier, unsigned parity)
{
    unsigned ended;
    do {
        asm volatile(
            "{\n"
            ".reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n"
            "}" : "=r"(ended) : "r"(barrier), "r"(parity) : "memory");
    } while (!ended);
}

// ----------------------------------------------------------------------------------------------- TMA: one thread copies

// Copies the box whose first element is (row, col) to shared memory. Its bytes are counted at `barrier`.
__device__ void load_box(unsigned to, const CUtensorMap* map, int row, int col, unsigned barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(col), "r"(row), "r"(barrier) : "memory");
}

// Copies a box from shared memory to where its first element is (row, col); a group of its own.
__device__ void store_box(unsigned from, const CUtensorMap* map, int row, int col)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];\n"
        "cp.async.bulk.commit_group;" ::"l"(map), "r"(col), "r"(row), "r"(from) : "memory");
}

// Waits until at most `PENDING` of this thread's copies to C still have to read shared memory.
template <int PENDING>
__device__ void store_wait()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

// --------------------------------------------------------------------------------- wgmma: a warpgroup multiplies at once

// What a wgmma is told of a matrix in shared memory: where it begins, two distances, and the swizzle. The distances
// count from one 8 × 128-byte piece, which the swizzle permutes, to the next:
//   A, rows of k       `stride` to the next 8 rows; one piece is wide enough, `leading` is not used
//   B, rows of n       `stride` to the next 8 steps of k, `leading` to the next 64 columns
__device__ unsigned long long descriptor(unsigned address, unsigned leading, unsigned stride)
{
    unsigned long long in_16_bytes = (address & 0x3FFFF) >> 4;
    in_16_bytes |= (unsigned long long)(leading >> 4) << 16;
    in_16_bytes |= (unsigned long long)(stride >> 4) << 32;
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

// Starts the products of one stage, 64 steps of k, as one group. 16 steps are 32 bytes of A's rows, and 16 rows of B.
// The first product of a tile, at step 0, does not add.
__device__ __forceinline__ void multiply(float (&d)[BN / 2], unsigned a, unsigned b, int step)
{
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < BK / 16; ++i)
        wgmma(d, descriptor(a + 32 * i, 0, 1024), descriptor(b + 2048 * i, BOX_BYTES, 1024), step + i);
    wgmma_commit();
}

// ------------------------------------------------------------------------------------------------------------- the tiles

// The first row and column of a tile. The blocks that run at the same time take GROUP rows of tiles, column by column: a
// region that is about as high as wide, for which the fewest rows of A and columns of B are fetched.
__device__ void place(int tile, int tile_rows, int tile_cols, int& row, int& col)
{
    int group = tile / (GROUP * tile_cols), at = tile % (GROUP * tile_cols);
    int height = min(GROUP, tile_rows - group * GROUP);
    row = (group * GROUP + at % height) * BM;
    col = at / height * BN;
}

// A consumer writes its 64 × 256 sums, OUT_N columns at a time, through two buffers in shared memory: while TMA empties
// one, the other is filled.
__device__ __forceinline__ void store(unsigned buffers, const CUtensorMap* map, const float (&d)[BN / 2], int row, int col)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    int consumer = threadIdx.x / 128;  // 1 or 2: the number of its own barrier for 128 threads
    bool leader = threadIdx.x % 128 == 0;
#pragma unroll
    for (int part = 0; part < BN / OUT_N; ++part) {
        unsigned buffer = buffers + part % 2 * OUT_BYTES;
        if (leader)
            store_wait<1>();  // the copy before last has read this buffer
        asm volatile("bar.sync %0, 128;" ::"r"(consumer) : "memory");

        // Of every 8 columns a lane has 2 neighbours, in row lane / 4 of its warp's 16 rows and 8 rows below. The map
        // says that the buffer is swizzled: piece p of 16 bytes of row r lies at place p ^ r % 8.
#pragma unroll
        for (int i = 0; i < OUT_N / 4; ++i) {
            int r = 16 * warp + 8 * (i % 2) + lane / 4;
            int piece = i / 2 * 2 + lane % 4 / 2;
            unsigned to = buffer + 128 * r + 16 * (piece ^ r % 8) + 8 * (lane % 2);
            const float* two = d + part * (OUT_N / 2) + 2 * i;
            asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(two[0]), "f"(two[1]) : "memory");
        }

        // Every thread lets TMA see what it has written; then one starts the copy.
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(consumer) : "memory");
        if (leader)
            store_box(buffer, map, row, col + part * OUT_N);
    }
}

extern "C" __global__ void __launch_bounds__(384, 1)
hgemm_wgmma_v3(const __grid_constant__ CUtensorMap a_tiles, const __grid_constant__ CUtensorMap b_tiles,
            const __grid_constant__ CUtensorMap c_tiles, int m, int n, int k)
{
    // The swizzle goes by address and repeats every 1024 bytes: the tiles must begin on such a boundary.
    extern __shared__ unsigned char memory[];
    unsigned stages = (shared_address(memory) + 1023) / 1024 * 1024;

    // full: the copies of a stage have arrived. empty: nobody reads it any more.
    __shared__ unsigned long long full_barriers[STAGES], empty_barriers[STAGES];
    unsigned full = shared_address(full_barriers), empty = shared_address(empty_barriers);

    // The same for all lanes of a warp: the shuffle lets the compiler know.
    int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);
    int lane = threadIdx.x % 32;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(full + 8 * i, 1);   // the producer, besides the bytes
            barrier_init(empty + 8 * i, 8);  // the 8 warps of the consumers
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // TMA must see them, too
    }
    __syncthreads();  // nobody may wait at a barrier before it exists

    int tile_rows = (m + BM - 1) / BM, tile_cols = (n + BN - 1) / BN;
    int steps = (k + BK - 1) / BK;
    int stage = 0, row, col;

    if (warpgroup == 0) {
        // Starting copies takes few registers: the consumers get what is left over.
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        int parity = 1;  // the first time round, all stages are empty
        if (threadIdx.x == 0) {
            for (int tile = blockIdx.x; tile < tile_rows * tile_cols; tile += gridDim.x) {
                place(tile, tile_rows, tile_cols, row, col);
                for (int step = 0; step < steps; ++step) {
                    unsigned a = stages + stage * STAGE_BYTES, b = a + A_BYTES, arrived = full + 8 * stage;
                    barrier_wait(empty + 8 * stage, parity);
                    barrier_expect(arrived, STAGE_BYTES);
                    load_box(a, &a_tiles, row, step * BK, arrived);
                    for (int i = 0; i < BN / BOX_N; ++i)
                        load_box(b + i * BOX_BYTES, &b_tiles, step * BK, col + i * BOX_N, arrived);
                    stage = (stage + 1) % STAGES;
                    parity ^= stage == 0;
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[BN / 2];  // 64 × 256 sums, over 128 threads
        int parity = 0;
        for (int tile = blockIdx.x; tile < tile_rows * tile_cols; tile += gridDim.x) {
            place(tile, tile_rows, tile_cols, row, col);
            row += 64 * (warpgroup - 1);
            int before = 0;
            for (int step = 0; step < steps; ++step) {
                unsigned a = stages + stage * STAGE_BYTES + 64 * BK * 2 * (warpgroup - 1);
                unsigned b = stages + stage * STAGE_BYTES + A_BYTES;
                barrier_wait(full + 8 * stage, parity);
                multiply(d, a, b, step);

                // This step's group may go on while the next one is started. The step before is done: its stage is
                // empty. One lane says so for its warp.
                wgmma_wait<1>();
                if (step > 0 && lane == 0)
                    barrier_arrive(empty + 8 * before);
                before = stage;
                stage = (stage + 1) % STAGES;
                parity ^= stage == 0;
            }
            wgmma_wait<0>();
            settle(d);
            if (lane == 0)
                barrier_arrive(empty + 8 * before);

            // The producer does not wait for this: the next tile's first stages are filled in the meantime.
            store(stages + STAGES * STAGE_BYTES + 2 * OUT_BYTES * (warpgroup - 1), &c_tiles, d, row, col);
        }
        store_wait<0>();  // shared memory has to last until TMA has read it; only leaders have copies
    }
}
