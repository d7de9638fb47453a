"""From CUDA C to PTX, in a child process with limits; the parent only reads text back.

source ──NVRTC in a child──▶ PTX ──inspect──▶ Program ──ptxas──▶ cubin (GPU only)
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter as the PTX declares it: ``type`` is e.g. ``u64``, ``f32``, or ``b8`` with a size."""

    type: str
    bytes: int
    align: int


@dataclass(frozen=True)
class Entry:
    name: str
    parameters: tuple[Parameter, ...]
    static_shared_bytes: int = 0


@dataclass(frozen=True)
class Program:
    """One compiled submission: the one PTX that is inspected, simulated, and assembled for the GPU."""

    name: str  # the file's name as the student knows it, e.g. "reduce_v3.cu"
    source: str
    ptx: str
    target: str  # "sm_80"
    entries: tuple[Entry, ...]
    key: str  # content hash of the PTX: the cache's name for everything made from it
    log: str = ""  # NVRTC's warnings, already in terms of the student's file

    def entry(self, name: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.name == name), None)
