"""The exceptions of the package.

    WarpgradeError
    ├── UsageError          a wrong command, or a path that cannot be read        exit 2
    ├── SubmissionError     the submission is at fault; has the verdict           exit 1
    │   └── RefusedProgram  no GPU would load it, so none of its cases can run
    ├── Unsupported         this machine or the simulator cannot do it            exit 4
    └── GraderFault         an error of the grader, never the student's           exit 5

Every error says what happened (``message``), what to do next (``hint``), and, if it is known, the place
(``Diagnostic.file`` and ``Diagnostic.line``).
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.verdict import Diagnostic


class WarpgradeError(Exception):
    """Raised when grading cannot continue; only its subclasses are raised."""

    exit_code = 5

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(WarpgradeError):
    """Raised when the command is wrong, or a path is missing, unreadable or a folder.

    ``code`` is the stable word of the JSON error document, e.g. ``unknown_exercise``.
    """

    exit_code = 2

    def __init__(self, message: str, *, code: str = "usage", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class SubmissionError(WarpgradeError):
    """Raised when an error of the submitted file decides the verdict, before or while it runs.

    ``verdict`` is one of `grader.verdict.VERDICTS` (``invalid``, ``compile_error``, ``policy``, ``limit``,
    ``timeout``, ``crash`` …). ``diagnostics`` have the places; without them ``place`` has the fields of the only
    `Diagnostic` (``file``, ``line``, ``column``, ``source``).
    """

    exit_code = 1

    def __init__(
        self, verdict: str, message: str, *, diagnostics: tuple[Diagnostic, ...] = (), hint: str = "", **place: Any
    ) -> None:
        from grader.verdict import Diagnostic  # late: a child that compiles or assembles needs no records of verdicts

        super().__init__(message, hint=hint)
        self.verdict = verdict
        self.diagnostics = diagnostics or (Diagnostic(verdict, message, hint=hint, **place),)


class RefusedProgram(SubmissionError):
    """Raised when the program cannot be assembled: no GPU would load it, so no case of it can run."""


class Unsupported(WarpgradeError):
    """Raised when this machine lacks a requirement, or the simulator does not support an instruction."""

    exit_code = 4

    def __init__(self, message: str, *, diagnostics: tuple[Diagnostic, ...] = (), hint: str = "") -> None:
        from grader.verdict import Diagnostic

        super().__init__(message, hint=hint)
        self.diagnostics = diagnostics or (Diagnostic(kind="unsupported", message=message, hint=hint),)


class GraderFault(WarpgradeError):
    """Raised when the grader itself failed: a child died for a reason that is not the student's."""


REPORT = "This is the grader's fault, not yours. Please report it, with what WARPGRADE_DEBUG=1 prints."


def as_fault(error: BaseException) -> WarpgradeError:
    """Return ``error`` as a WarpgradeError: another exception becomes a GraderFault with its type and place.

    WARPGRADE_DEBUG=1 prints the traceback.
    """
    import traceback
    from pathlib import Path  # late: a child that assembles needs none

    if os.environ.get("WARPGRADE_DEBUG", "") not in ("", "0"):
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, WarpgradeError):
        return error
    frames = traceback.extract_tb(error.__traceback__)
    place = f" (in {Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return GraderFault(f"the grader itself failed: {type(error).__name__}: {error}{place}", hint=REPORT)
