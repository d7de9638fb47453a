"""How many blocks of a launch are resident at once: a block that waits for one that is not waits for ever.

The figures are the simulated A100's. Registers are no limit here, for PTX does not tell how many a thread will have.
"""

from __future__ import annotations

from grader.simt.engine.codegen import BANK_ROW, Kernel

SM_COUNT = 108
WARPS, BLOCKS = 64, 32
"""Of one multiprocessor."""
SHARED_BYTES, SHARED_UNIT, RESERVED = 164 << 10, 128, 1 << 10
"""Of one multiprocessor; the unit in which it is given to blocks; and what the system takes of it for each block."""


def blocks_per_sm(kernel: Kernel, threads: int, dynamic_shared: int) -> int:
    """How many blocks of so many threads one multiprocessor holds."""
    warps = -(-threads // 32)
    shared = static_shared_bytes(kernel) + dynamic_shared + RESERVED
    shared = -(-shared // SHARED_UNIT) * SHARED_UNIT
    return min(WARPS // warps, BLOCKS, SHARED_BYTES // shared)


def resident_blocks(kernel: Kernel, threads: int, dynamic_shared: int) -> int:
    """How many the whole device holds."""
    return SM_COUNT * blocks_per_sm(kernel, threads, dynamic_shared)


def static_shared_bytes(kernel: Kernel) -> int:
    """As the compiler lays shared arrays out: without the gaps that the simulator puts between them."""
    return kernel.shared_bytes - BANK_ROW * max(0, len(kernel.shared) - 1)
