"""A compiled submission: its PTX, and what the PTX declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from grader.frozen import dataclass


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter as the PTX declares it: ``type`` is e.g. ``u64``, ``f32``, or ``b8`` for an array of bytes."""

    type: str
    bytes: int
    align: int


@dataclass(frozen=True)
class Entry:
    """A kernel, as the PTX declares it."""

    name: str
    parameters: tuple[Parameter, ...]
    static_shared_bytes: int = 0
    max_threads: int = 0  # of a block, from `__launch_bounds__`; 0: as many as the GPU has
    required_block: tuple[int, ...] = ()  # the shape of its blocks, from `__block_size__`; (): any
    required_cluster: tuple[int, ...] = ()  # the shape of its clusters, from `__cluster_dims__`; (): any


@dataclass(frozen=True)
class Program:
    """A compiled submission: its PTX is inspected, simulated, and assembled for the GPU."""

    name: str  # the file's name without its folder, e.g. "reduce_v3.cu"
    source: str
    ptx: str
    target: str  # "sm_80"
    entries: tuple[Entry, ...]
    key: str  # content hash of PTX and target: the cache key of everything made from the PTX
    log: str = ""  # NVRTC's warnings, with lines of the student's file
    constants: Mapping[str, int] = field(default_factory=dict)  # values of the names in launch lines

    def entry(self, name: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.name == name), None)
