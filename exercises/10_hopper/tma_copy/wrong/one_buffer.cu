// expect: gpu=slow
// Right, but an SM has a single buffer: each load waits for the store before it, and nothing overlaps.

// tma_copy: an image moved down and to the right, with zeros where nothing came from. TMA copies; one thread says what.
//
// out(r, c) = x(r - down, c - right), and 0 where that lies outside of x. Both are `rows` rows of `cols` floats; `cols`
// and `right` are multiples of 4.
//
// A block has one buffer in shared memory. A box goes from x into a buffer, and from there to out. No
// value passes through a register, and the 31 other threads of the block have nothing to do.

// tensor_map x_boxes = x: shape=(rows, cols) box=(BOX_ROWS, BOX_COLS)
// tensor_map out_boxes = out: shape=(rows, cols) box=(BOX_ROWS, BOX_COLS)
// launch tma_copy(x_boxes, out_boxes, rows, cols, down, right): grid=min(cdiv(rows, BOX_ROWS) * cdiv(cols, BOX_COLS), sm_count) block=32 shared=SHARED_BYTES

#include <cuda.h>  // CUtensorMap

#define BOX_ROWS 16
#define BOX_COLS 256  // rows of 1 KiB; a box has at most 256 elements a side
#define BOX_BYTES (BOX_ROWS * BOX_COLS * 4)
#define STAGES 1
#define SHARED_BYTES (128 + STAGES * BOX_BYTES)

// ------------------------------------------------------------------------------- mbarriers: addresses in shared memory

unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

void barrier_init(unsigned barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// One arrival, and the promise of `bytes` that copies will bring: the phase ends when both have come.
void barrier_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Waits for the end of a phase. Phases are numbered by their lowest bit only: 0, 1, 0, 1 … `try_wait` may sleep for a
// while and come back without success; so it stands in a loop.
void barrier_wait(unsigned barrier, unsigned parity)
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
void load_box(unsigned to, const CUtensorMap* map, int row, int col, unsigned barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(col), "r"(row), "r"(barrier) : "memory");
}

// Starts the copy of a box from shared memory to where its first element is (row, col); a group of its own. What would
// land outside of the map's shape is dropped.
void store_box(unsigned from, const CUtensorMap* map, int row, int col)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];\n"
        "cp.async.bulk.commit_group;" ::"l"(map), "r"(col), "r"(row), "r"(from) : "memory");
}

// Waits until at most `PENDING` of this thread's stores still have to read shared memory.
template <int PENDING>
void store_wait()
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

    // full[s]: the box of buffer s has arrived.
    __shared__ unsigned long long full_barriers[STAGES];
    unsigned full = shared_address(full_barriers);

    if (threadIdx.x != 0)
        return;

    for (int s = 0; s < STAGES; ++s)
        barrier_init(full + 8 * s, 1);  // one arrival: the promise of the bytes
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // TMA must see the barriers, too

    // This block's boxes are number blockIdx.x, blockIdx.x + gridDim.x, …, counted row by row.
    int across = (cols + BOX_COLS - 1) / BOX_COLS;
    int boxes = (rows + BOX_ROWS - 1) / BOX_ROWS * across;
    int mine = (boxes - blockIdx.x + gridDim.x - 1) / gridDim.x;

    for (int i = 0; i < mine; ++i) {
        int box = blockIdx.x + i * gridDim.x;
        int row = box / across * BOX_ROWS, col = box % across * BOX_COLS;
        barrier_expect(full, BOX_BYTES);
        load_box(buffers, &x_boxes, row - down, col - right, full);
        barrier_wait(full, i % 2);
        store_box(buffers, &out_boxes, row, col);
        store_wait<0>();
    }

    // Shared memory ends with the block: it has to last until the last store has read it.
    store_wait<0>();
}
