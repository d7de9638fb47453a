"""What it means that a host file's process has died or does not come back: findings at its last line. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from grader.errors import SubmissionError
from grader.verdict import Diagnostic


def died(file: str, line: int | None, signal: str | None, status: int | None, otherwise: str = "") -> SubmissionError:
    """The process ended by ``signal``, or else with ``status``, while ``line`` was executed, where that is known.

    ``otherwise`` is the next step where the signal itself says nothing.
    """
    how = f"exit status {status}" if signal is None else _MEANS.get(signal, signal)
    message = f"the process of {file} ended in the middle of it: {how}{_place(file, line)}"
    at = f" at line {line}" if line else ""
    hint = _MUST_RETURN if signal is None else _NEXT.get(signal, otherwise or _MUST_RETURN)
    found = Diagnostic("crash", message, file=file, line=line, hint=hint.format(at=at))
    return SubmissionError("crash", message, diagnostics=(found,), hint=found.hint)


def hung(file: str, line: int | None, message: str, hint: str, busy: str = "") -> SubmissionError:
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
