"""From CUDA C to PTX, in a child process with limits; the parent gets only text from it.

source ──NVRTC in a child──▶ PTX ──inspect──▶ Program ──ptxas──▶ cubin (for a GPU), resources (for the simulator, too)

source.py     reading and checking a submission;  lexical.py  comments, literals, directives, braces
nvrtc.py      bytes to a Program;  child.py  the child with NVRTC;  log.py  NVRTC's errors, with advice
constants.py  the values of constants in launch lines
inspect.py    what the PTX declares, checked
ptxas.py      PTX to a cubin, or the reason why ptxas refuses it
program.py    a compiled submission: the PTX and its entries
parsing.py    the child with the C parser, for hints;  toolchain.py  where NVRTC, ptxas and headers are;  cache.py
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.compile.nvrtc import compile_source as compile_source
    from grader.compile.program import Entry as Entry
    from grader.compile.program import Parameter as Parameter
    from grader.compile.program import Program as Program
    from grader.compile.ptxas import assemble as assemble
    from grader.compile.ptxas import assembly as assembly
    from grader.compile.source import read_submission as read_submission

_PLACES = {
    "compile_source": "nvrtc", "Entry": "program", "Parameter": "program", "Program": "program", "assemble": "ptxas",
    "assembly": "ptxas", "read_submission": "source",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """What others use, imported late: children, and commands that never compile, need none of it."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"grader.compile.{_PLACES[name]}"), name)
