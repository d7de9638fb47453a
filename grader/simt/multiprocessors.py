"""What one multiprocessor of each architecture has for the blocks that are resident on it.

The figures are those of the CUDA C++ Programming Guide (table "Technical Specifications per Compute Capability").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Multiprocessor:
    """What one multiprocessor has for its resident blocks."""

    warps: int
    blocks: int
    shared_bytes: int
    shared_bytes_per_block: int
    reserved_bytes: int = 1 << 10  # of shared memory, for each block, which the system takes
    shared_unit: int = 128  # bytes in which shared memory is given
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
