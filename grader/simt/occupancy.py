"""How many blocks of a kernel are resident on a multiprocessor, and which resource limits them. Pure.

    occupancy("sm_80", threads=128, registers=37, shared_bytes=0) -> Occupancy(blocks=12, warps=48, most_warps=64, …)

The figures are those of the CUDA C++ Programming Guide (table "Technical Specifications per Compute Capability");
the rules of allocation are those of the occupancy calculator in Nsight Compute: registers are allocated to warps in
units of 256 and to whole groups of 4 warps; shared memory to blocks in units of 256 bytes, from compute capability 8.0
on of 128 bytes, with 1 KiB for the system. Tests compare them with the toolkit's cuda_occupancy.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SIMULATED = "sm_80"
"""The architecture of the simulated device, an A100."""
SM_COUNT = 108
"""Its multiprocessors."""

WARP = 32
REGISTER_UNIT = 256
"""Registers are allocated to a warp in this unit."""
WARP_UNIT = 4
"""Warps get registers in groups of this size, one for each scheduler."""
MOST_REGISTERS = 255
"""Per thread."""
MOST_THREADS = 1024
"""Per block."""


@dataclass(frozen=True)
class Multiprocessor:
    """The resources of one multiprocessor for its resident blocks."""

    warps: int
    blocks: int
    shared_bytes: int
    shared_bytes_per_block: int
    reserved_bytes: int = 1 << 10  # shared memory per block for the system
    shared_unit: int = 128  # shared memory is allocated in this unit, in bytes
    registers: int = 1 << 16


KIB = 1 << 10
MULTIPROCESSORS: Mapping[str, Multiprocessor] = {
    "sm_70": Multiprocessor(64, 32, 96 * KIB, 96 * KIB, reserved_bytes=0, shared_unit=256),
    "sm_75": Multiprocessor(32, 16, 64 * KIB, 64 * KIB, reserved_bytes=0, shared_unit=256),
    "sm_80": Multiprocessor(64, 32, 164 * KIB, 163 * KIB),
    "sm_86": Multiprocessor(48, 16, 100 * KIB, 99 * KIB),
    "sm_87": Multiprocessor(48, 16, 164 * KIB, 163 * KIB),
    "sm_89": Multiprocessor(48, 24, 100 * KIB, 99 * KIB),
    "sm_90": Multiprocessor(64, 32, 228 * KIB, 227 * KIB),
    "sm_100": Multiprocessor(64, 32, 228 * KIB, 227 * KIB),
    "sm_120": Multiprocessor(48, 24, 100 * KIB, 99 * KIB),
}


@dataclass(frozen=True)
class Occupancy:
    """Resident blocks and warps. ``limits`` is the number of blocks that each resource alone would allow."""

    blocks: int
    warps: int
    most_warps: int
    limits: Mapping[str, int]  # "warps", "blocks", "registers", "shared memory"

    @property
    def fraction(self) -> float:
        return self.warps / self.most_warps

    @property
    def limiters(self) -> tuple[str, ...]:
        """The resources that limit the number of blocks."""
        return tuple(name for name, most in self.limits.items() if most == self.blocks)


def occupancy(arch: str, *, threads: int, registers: int, shared_bytes: int = 0) -> Occupancy:
    """Resident blocks of ``threads`` threads with ``registers`` each and ``shared_bytes`` (static and dynamic) a block.

    0 blocks: not even one fits. Raises NotPossible for an unknown architecture, or a value that no block can have.
    """
    has = multiprocessor(arch)
    for what, value, least, most in (
        ("threads in a block", threads, 1, MOST_THREADS),
        ("registers for each thread", registers, 1, MOST_REGISTERS),
        ("bytes of shared memory", shared_bytes, 0, 1 << 30),
    ):
        if not least <= value <= most:
            raise NotPossible(f"{value} {what}: {least} to {most} are possible", code="bad_option")
    warps = warps_of(threads)
    limits = {
        "warps": has.warps // warps,
        "blocks": has.blocks,
        "registers": _warps_by_registers(has, registers) // warps,
        "shared memory": _by_shared_memory(has, shared_bytes),
    }
    blocks = min(limits.values())
    return Occupancy(blocks, blocks * warps, has.warps, limits)


def most_threads(arch: str, registers: int) -> int:
    """Threads of the largest block of a kernel with ``registers`` per thread."""
    return min(MOST_THREADS, _warps_by_registers(multiprocessor(arch), max(1, registers)) * WARP)


def resident_without_registers(arch: str, threads: int, shared_bytes: int) -> int:
    """Resident blocks without the limit of registers, which PTX does not tell."""
    has = multiprocessor(arch)
    return min(has.warps // warps_of(threads), has.blocks, _by_shared_memory(has, shared_bytes))


class NotPossible(ValueError):
    """Raised when an architecture is unknown, or no block can have a value; ``code`` is a stable word."""

    def __init__(self, message: str, code: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.code, self.hint = message, code, hint


def multiprocessor(arch: str) -> Multiprocessor:
    """One multiprocessor of this architecture. Raises NotPossible if it is unknown."""
    plain = arch[:-1] if arch[-1:] in ("a", "f") else arch
    if plain not in MULTIPROCESSORS:
        known = ", ".join(MULTIPROCESSORS)
        raise NotPossible(f"nothing is known of {arch!r}", code="unknown_architecture", hint=f"known are {known}")
    return MULTIPROCESSORS[plain]


def warps_of(threads: int) -> int:
    """Warps of a block of ``threads`` threads."""
    return -(-threads // WARP)


def registers_of_warp(registers: int) -> int:
    """Registers that are allocated to a warp whose threads need ``registers`` each."""
    return -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT


def _warps_by_registers(has: Multiprocessor, registers: int) -> int:
    return has.registers // registers_of_warp(registers) // WARP_UNIT * WARP_UNIT


def _by_shared_memory(has: Multiprocessor, shared_bytes: int) -> int:
    if shared_bytes > has.shared_bytes_per_block:
        return 0
    of_block = -(-(shared_bytes + has.reserved_bytes) // has.shared_unit) * has.shared_unit
    return has.shared_bytes // of_block if of_block else has.blocks
