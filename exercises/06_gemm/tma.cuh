// Given with the steps that copy by TMA: a function for each of its PTX instructions, and for mbarriers. Read it, and
// include it; `grade` always compiles the course's own copy.

#pragma once

#include <cuda.h>  // CUtensorMap

// ------------------------------------------------------------------------------- mbarriers: addresses in shared memory

__device__ unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

// A phase of the barrier ends with as many arrivals as this, and with the bytes that were promised.
__device__ void barrier_init(unsigned barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// One arrival, and the promise of `bytes` that copies will bring: the phase ends when both have come.
__device__ void barrier_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// One arrival, when a stage is not read any more, for example.
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
