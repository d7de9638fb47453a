"""How many blocks of a kernel fit on a multiprocessor, and what limits them. Pure.

    occupancy("sm_80", threads=128, registers=37, shared_bytes=0) -> Occupancy(blocks=12, warps=48, most_warps=64, …)

The figures are those of the CUDA C++ Programming Guide (table "Technical Specifications per Compute Capability");
the rules of allocation are those of the occupancy calculator in Nsight Compute: registers are given to warps in units
of 256 and to whole groups of 4 warps; shared memory to blocks in units of 256 bytes, from compute capability 8.0 on of
128, with 1 KiB for the system. The tests hold them against the toolkit's cuda_occupancy.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.errors import UsageError
from grader.simt.multiprocessors import MULTIPROCESSORS, Multiprocessor

WARP = 32
REGISTER_UNIT = 256
"""Registers are given to a warp in this unit."""
WARP_UNIT = 4
"""Warps share the register file in groups of this many, one for each scheduler."""
MOST_REGISTERS = 255
"""Of one thread."""
MOST_THREADS = 1024
"""Of one block."""


@dataclass(frozen=True)
class Occupancy:
    """Resident blocks and warps. ``limits`` is how many blocks each resource alone would allow."""

    blocks: int
    warps: int
    most_warps: int
    limits: Mapping[str, int]  # "warps", "blocks", "registers", "shared memory"

    @property
    def fraction(self) -> float:
        return self.warps / self.most_warps

    @property
    def limiters(self) -> tuple[str, ...]:
        """The resources that allow no more than these blocks."""
        return tuple(name for name, most in self.limits.items() if most == self.blocks)


def occupancy(arch: str, *, threads: int, registers: int, shared_bytes: int = 0) -> Occupancy:
    """Resident blocks of ``threads`` threads with ``registers`` each and ``shared_bytes`` (static and dynamic) a block.

    0 blocks: not even one fits. Raises UsageError for an unknown architecture and for what no block can have.
    """
    has = multiprocessor(arch)
    _check("threads in a block", threads, 1, MOST_THREADS)
    _check("registers for each thread", registers, 1, MOST_REGISTERS)
    _check("bytes of shared memory", shared_bytes, 0, 1 << 30)
    warps = -(-threads // WARP)
    limits = {
        "warps": has.warps // warps,
        "blocks": has.blocks,
        "registers": _by_registers(has, warps, registers),
        "shared memory": _by_shared_memory(has, shared_bytes),
    }
    blocks = min(limits.values())
    return Occupancy(blocks, blocks * warps, has.warps, limits)


def multiprocessor(arch: str) -> Multiprocessor:
    """What one multiprocessor of this architecture has. Raises UsageError for one that is not known."""
    plain = arch[:-1] if arch[-1:] in ("a", "f") else arch
    if plain not in MULTIPROCESSORS:
        known = ", ".join(MULTIPROCESSORS)
        raise UsageError(f"nothing is known of {arch!r}", code="unknown_architecture", hint=f"known are {known}")
    return MULTIPROCESSORS[plain]


def _check(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(f"{value} {what}: {least} to {most} are possible", code="bad_option")


def _by_registers(has: Multiprocessor, warps: int, registers: int) -> int:
    of_warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
    resident = has.registers // of_warp // WARP_UNIT * WARP_UNIT
    return resident // warps


def _by_shared_memory(has: Multiprocessor, shared_bytes: int) -> int:
    if shared_bytes > has.shared_bytes_per_block:
        return 0
    of_block = -(-(shared_bytes + has.reserved_bytes) // has.shared_unit) * has.shared_unit
    return has.shared_bytes // of_block if of_block else has.blocks
