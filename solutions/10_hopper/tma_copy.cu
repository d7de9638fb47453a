// tma_copy: an image moved down and to the right, with zeros where nothing came from. TMA copies; one thread says what.
//
// out(r, c) = x(r - down, c - right), and 0 where that lies outside of x. Both are `rows` rows of `cols` floats; `cols`
// and `right` are multiples of 4.
//
// A block copies one tile: from x into shared memory, and from there to out. No value passes through a register, and 31
// of 32 threads have nothing to do.

// tensor_map x_boxes = x: shape=(rows, cols) box=(1, BOX)
// tensor_map out_boxes = out: shape=(rows, cols) box=(1, BOX)
// launch tma_copy(x_boxes, out_boxes, rows, cols, down, right): grid=rows * cdiv(cols, TILE) block=32 shared=SHARED_BYTES

#include <cuda.h>  // CUtensorMap

#define BOX 256    // columns of one copy: no box has a longer side
#define TILE 1024  // columns of a tile, which is a part of one row

// Three times what a tile takes, so that 16 blocks share a multiprocessor and not 32: what is in flight at a time lies
// closer together in memory then, and is still enough.
#define SHARED_BYTES 13312

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

// Waits for the end of a phase. Phases are numbered by their lowest bit only: 0, 1, 0, 1 … `try_wait` may sleep for a
// while and come back without success; so it stands in a loop.
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

// Starts the copy of the box whose first element is (row, col) to shared memory. Its bytes are counted at `barrier`.
// Row and column may be negative: what lies outside of the map's shape arrives as zero. Only the column has to be a
// multiple of 16 bytes, which 4 floats are; else the GPU stops with an illegal instruction.
__device__ void load_box(unsigned to, const CUtensorMap* map, int row, int col, unsigned barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(col), "r"(row), "r"(barrier) : "memory");
}

// Starts the copy of a box from shared memory to where its first element is (row, col). What would land outside of
// the map's shape is dropped.
__device__ void store_box(unsigned from, const CUtensorMap* map, int row, int col)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
        "r"(col), "r"(row), "r"(from) : "memory");
}

// All stores that this thread has started since its last commit are a group.
__device__ void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until at most `PENDING` of this thread's groups of stores still have to read shared memory.
template <int PENDING>
__device__ void store_wait()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

// ----------------------------------------------------------------------------------------------------------- the kernel

extern "C" __global__ void tma_copy(const __grid_constant__ CUtensorMap x_boxes,
                                    const __grid_constant__ CUtensorMap out_boxes, int rows, int cols, int down,
                                    int right)
{
    // TMA wants the target of a copy to begin at a multiple of 128 bytes.
    extern __shared__ unsigned char memory[];
    unsigned buffers = (shared_address(memory) + 127) / 128 * 128;

    // full: the tile has arrived.
    __shared__ unsigned long long full_barrier;
    unsigned full = shared_address(&full_barrier);

    if (threadIdx.x != 0)
        return;

    barrier_init(full, 1);  // one arrival: the promise of the bytes
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // TMA must see the barrier, too

    // Tiles are counted row by row. Blocks begin in the order of their number, and so they all work in one region of
    // memory, which moves on.
    int across = (cols + TILE - 1) / TILE;
    int row = blockIdx.x / across, col = blockIdx.x % across * TILE;

    // First the promise, then the copies: from where the tile comes from, up and to the left.
    barrier_expect(full, TILE * 4);
    for (int k = 0; k < TILE; k += BOX)
        load_box(buffers + k * 4, &x_boxes, row - down, col + k - right, full);

    // The first phase of a barrier is phase 0.
    barrier_wait(full, 0);
    for (int k = 0; k < TILE; k += BOX)
        store_box(buffers + k * 4, &out_boxes, row, col + k);
    store_commit();

    // Shared memory ends with the block: it has to last until the stores have read it.
    store_wait<0>();
}
