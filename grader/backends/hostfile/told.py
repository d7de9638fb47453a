"""What a host file's process says that went wrong, and what it printed: hostile data, believed in part.

The host file can write to its process's channel. So a word is taken only where it does not help the file, and a place
only in the file itself. Pure; the parent's side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.errors import SubmissionError
from grader.findings.kinds import word_of_kind
from grader.verdict import Diagnostic

FAULTS = ("invalid", "unsupported", "out_of_bounds", "timeout", "limit", "crash")
"""The verdict words that an exception of a host file, or a refusal of CUDA's, may end in; any other is a crash."""

LONGEST = 4000  # characters of a message
MOST = 16  # findings


def told_error(answer: Mapping[str, Any], file: str) -> SubmissionError:
    """The error in an answer with ``fault``: of the host file ``file``, with its findings there."""
    told = answer.get("diagnostics")
    found = tuple(_finding(one, file) for one in told[:MOST] if isinstance(one, dict)) if isinstance(told, list) else ()
    word = answer.get("fault")
    message = str(answer.get("message", ""))[:LONGEST]
    return SubmissionError(word if word in FAULTS else "crash", message, diagnostics=found)


def told_printed(answer: Mapping[str, Any], limit_bytes: int) -> tuple[str, bool]:
    """What it says that was printed, cut at the limit, and whether that was more."""
    return str(answer.get("printed", ""))[:limit_bytes], answer.get("too_much") is True


def printed_too_much(who: str, file: str, limit_bytes: int) -> Diagnostic:
    """The finding of who printed more than the limit."""
    message = f"{who} printed more than {limit_bytes >> 10} kB"
    return Diagnostic("limit", message, file=file, hint="print less: setup() and run() are called for each case")


def _finding(told: Mapping[str, Any], file: str) -> Diagnostic:
    kind, message, hint = (str(told.get(name, ""))[:LONGEST] for name in ("kind", "message", "hint"))
    line = told.get("line")
    own = told.get("file") == file
    return Diagnostic(
        kind if word_of_kind(kind) in FAULTS else "crash",
        message,
        file=file if own else None,
        line=line if own and type(line) is int and line > 0 else None,
        hint=hint,
    )
