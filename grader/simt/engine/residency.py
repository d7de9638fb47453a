"""How many blocks of a launch are resident at once: a block that waits for one that is not waits for ever.

The figures are the simulated A100's. Registers are no limit here, for PTX does not tell how many a thread will have.
"""

from __future__ import annotations

from grader.simt.engine.codegen import BANK_ROW, Kernel
from grader.simt.occupancy import MULTIPROCESSORS, SIMULATED, SM_COUNT

SM = MULTIPROCESSORS[SIMULATED]


def blocks_per_sm(kernel: Kernel, threads: int, dynamic_shared: int) -> int:
    """How many blocks of so many threads one multiprocessor holds."""
    warps = -(-threads // 32)
    shared = static_shared_bytes(kernel) + dynamic_shared + SM.reserved_bytes
    shared = -(-shared // SM.shared_unit) * SM.shared_unit
    return min(SM.warps // warps, SM.blocks, SM.shared_bytes // shared)


def resident_blocks(kernel: Kernel, threads: int, dynamic_shared: int) -> int:
    """How many the whole device holds."""
    return SM_COUNT * blocks_per_sm(kernel, threads, dynamic_shared)


def static_shared_bytes(kernel: Kernel) -> int:
    """As the compiler lays shared arrays out: without the gaps that the simulator puts between them."""
    return kernel.shared_bytes - BANK_ROW * max(0, len(kernel.shared) - 1)
