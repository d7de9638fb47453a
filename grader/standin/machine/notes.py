"""Notes in words: what is no mistake by itself, and says why a result is wrong or a counter is high. Pure."""

from __future__ import annotations

from grader.render.text import bytes_words
from grader.standin.machine.managed import Fault
from grader.standin.machine.operations import Operation
from grader.standin.machine.words import Words
from grader.verdict import Diagnostic


def read_too_early(words: Words, op: Operation, written: int, result: str) -> Diagnostic:
    """Beside a wrong result: the host wrote managed memory while a kernel with results for it was still queued."""
    return Diagnostic(
        "read_too_early",
        f"the host wrote {words.space.name(written)} while {words.doer(op)} was still queued, which writes {result}: "
        "if it computed the one from the other, it read too early",
        severity="note", file=words.file, line=op.job.where or None, kernel=op.job.name,
        hint="wait for the kernel before the host reads what it writes: `stream.synchronize()`",
    )  # fmt: skip


def page_faults(words: Words, op: Operation, fault: Fault, parameter: str) -> Diagnostic:
    """Beside a count of page faults: the kernel and the memory that had the most."""
    region = fault.region
    line = f", allocated at line {region.line}" if region.line else ""
    size = f"{bytes_words(region.size)} of managed memory{line}"
    what = f"`{parameter}` ({size})" if parameter else size
    why = f": {fault.why}" if fault.why else ""
    return Diagnostic(
        "page_faults",
        f"the most came when {words.doer(op)} touched {what}, whose pages were on the host{why}",
        severity="note", file=words.file, line=op.job.where or None, kernel=op.job.name,
    )  # fmt: skip
