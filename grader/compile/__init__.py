"""From CUDA C to PTX, in a child process with limits; the parent only reads text back.

source ──NVRTC in a child──▶ PTX ──inspect──▶ Program ──ptxas──▶ cubin (for a GPU), resources (for the simulator, too)

source.py     reading a submission, and refusing what is no CUDA C;  lexical.py  comments, literals, directives, braces
nvrtc.py      bytes to a Program;  child.py  NVRTC itself;  log.py  errors, and advice
constants.py  the values of names that launch lines use
inspect.py    what the PTX declares, and what of it is refused
ptxas.py      PTX to a cubin, or why there is none
parsing.py    the parsed view of a source;  toolchain.py, cache.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.compile.nvrtc import compile_source as compile_source
    from grader.compile.ptxas import assemble as assemble
    from grader.compile.ptxas import assembly as assembly
    from grader.compile.source import read_submission as read_submission


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
    max_threads: int = 0  # of a block, from `__launch_bounds__`; 0: as many as the GPU has
    required_block: tuple[int, ...] = ()  # the shape of its blocks, from `__block_size__`; (): any
    required_cluster: tuple[int, ...] = ()  # the shape of its clusters, from `__cluster_dims__`; (): any


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
    constants: Mapping[str, int] = field(default_factory=dict)  # of the names that launch lines use

    def entry(self, name: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.name == name), None)


def __getattr__(name: str) -> Any:
    """The functions that others call, imported late: children, and commands that never compile, need none of them."""
    if name == "read_submission":
        from grader.compile import source

        return source.read_submission
    if name == "compile_source":
        from grader.compile import nvrtc

        return nvrtc.compile_source
    if name in ("assemble", "assembly"):
        from grader.compile import ptxas

        return getattr(ptxas, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
