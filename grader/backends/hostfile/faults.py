"""What went wrong in a host file's process: what it says itself, believed in part, and what its death or silence means.

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


def error_of(answer: Mapping[str, Any], file: str) -> SubmissionError:
    """The error in an answer with ``fault``: of the host file ``file``, with its findings there."""
    told = answer.get("diagnostics")
    found = tuple(_finding(one, file) for one in told[:MOST] if isinstance(one, dict)) if isinstance(told, list) else ()
    word = answer.get("fault")
    message = str(answer.get("message", ""))[:LONGEST]
    return SubmissionError(word if word in FAULTS else "crash", message, diagnostics=found)


def printed_of(answer: Mapping[str, Any], limit_bytes: int) -> tuple[str, bool]:
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


def process_died(
    file: str, line: int | None, signal: str | None, status: int | None, otherwise: str = ""
) -> SubmissionError:
    """The process ended by ``signal``, or else with ``status``, while ``line`` was executed, where that is known.

    ``otherwise`` is the next step where the signal itself says nothing.
    """
    how = f"exit status {status}" if signal is None else _MEANS.get(signal, signal)
    message = f"the process of {file} ended in the middle of it: {how}{_place(file, line)}"
    at = f" at line {line}" if line else ""
    hint = _MUST_RETURN if signal is None else _NEXT.get(signal, otherwise or _MUST_RETURN)
    found = Diagnostic("crash", message, file=file, line=line, hint=hint.format(at=at))
    return SubmissionError("crash", message, diagnostics=(found,), hint=found.hint)


def process_hung(file: str, line: int | None, message: str, hint: str, busy: str = "") -> SubmissionError:
    """``message`` says which limit was passed, ``line`` where the host file is, and ``busy`` that the machine is."""
    message += _place(file, line) + busy
    found = Diagnostic("timeout", message, file=file, line=line, hint=hint)
    return SubmissionError("timeout", message, diagnostics=(found,), hint=hint)


def _place(file: str, line: int | None) -> str:
    return f" ({file}:{line})" if line else ""


_MEANS: Mapping[str, str] = {
    "SIGSEGV": "SIGSEGV, a wrong address",
    "SIGBUS": "SIGBUS, a wrong address",
    "SIGABRT": "SIGABRT, a library gave up",
}
_MUST_RETURN = "setup() and run() must return: take out what ends the process{at}"
_ADDRESS = (
    "check what was passed{at}: one of the addresses is not in the host's memory, or more bytes were asked for than "
    "there are"
)
_NEXT: Mapping[str, str] = {
    "SIGSEGV": _ADDRESS,
    "SIGBUS": _ADDRESS,
    "SIGABRT": "look at what was printed before, and at what was passed{at}: mostly something was written beyond the "
    "end of its memory",
    "SIGKILL": "let it take less memory: the system ends a process like this when there is no more",
}
"""The next step, by the signal."""
