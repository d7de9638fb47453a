"""From CUDA C to PTX, in a child process with limits; the parent gets only text from it.

source ──NVRTC in a child──▶ PTX ──inspect──▶ Program ──ptxas──▶ cubin (for a GPU), resources (for the simulator, too)

source.py     reading and checking a submission;  lexical.py  comments, literals, directives, braces
nvrtc.py      bytes to a Program;  child.py  the child with NVRTC;  log.py  NVRTC's errors, with advice
constants.py  the values of constants in launch lines
inspect.py    what the PTX declares, checked
ptxas.py      PTX to a cubin, or the reason why ptxas refuses it
parsing.py    the child with the C parser, for hints;  toolchain.py  where NVRTC, ptxas and headers are;  cache.py
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


def __getattr__(name: str) -> Any:
    """The package's public functions, imported at their first use: children and many commands need none of them."""
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
