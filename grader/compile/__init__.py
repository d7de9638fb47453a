"""From CUDA C to PTX, in a child process with limits; the parent only reads text back.

source ──NVRTC in a child──▶ PTX ──inspect──▶ Program ──ptxas──▶ cubin (GPU only)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.compile.ptxas import Assembly
    from grader.errors import SubmissionError


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


# The functions that others call. Each imports its module when it is called: the children that import this package,
# and commands that never compile, should not pay for what they do not use.


def read_submission(path: Path) -> bytes:
    """Read the file to grade.

    Raises UsageError (code ``not_found``, ``is_a_directory``, ``unreadable``), and SubmissionError ``invalid`` for one
    over 1 MiB, of which no more than that is read.
    """
    from grader.compile import source

    return source.read_submission(path)


def compile_source(source: bytes, name: str, *, target: str = "sm_80", cache: bool = True) -> Program:
    """Compile one submission for ``target`` in a child process with limits, and inspect the PTX.

    ``name`` is the file's name in every message. Raises SubmissionError (``invalid``, ``compile_error``, ``limit``,
    ``policy``), Unsupported (no NVRTC, or one that does not know ``target``), GraderFault. With ``cache`` the result
    is kept under its content; errors are not kept.
    """
    from grader.compile import pipeline

    return pipeline.compile_source(source, name, target=target, cache=cache)


def assemble(program: Program, arch: str) -> bytes:
    """The cubin of ``program`` for the real architecture ``arch``, e.g. ``sm_90``; `assembly` tells more.

    Raises Unsupported (no ptxas, or one older than NVRTC), SubmissionError (``limit``, ``compile_error``), GraderFault.
    """
    return assembly(program, arch).cubin


def assembly(program: Program, arch: str) -> Assembly:
    """Like `assemble`, with the registers, spills and shared memory of each entry."""
    from grader.compile import ptxas

    return ptxas.assembly(program, arch)


def missing_entry(program: Program, wanted: str) -> SubmissionError:
    """The error to raise for a launch of a kernel that ``program`` does not have; says why, where that is known."""
    from grader.compile import inspect

    return inspect.missing_entry(program, wanted)
