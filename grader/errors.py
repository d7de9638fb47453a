"""Everything that can go wrong, as one small tree.

    WarpgradeError
    ├── UsageError          a wrong command, or a path that cannot be read        exit 2
    ├── SubmissionError     the submission is at fault; carries the verdict word  exit 1
    │   └── RefusedProgram  no GPU would load it, so no case of it can run
    ├── Unsupported         this machine or the simulator cannot do it            exit 4
    └── GraderFault         our own fault, never the student's                    exit 5

Every error carries three things a person needs: what happened (``message``), what to do next (``hint``), and,
where one is known, the place (``Diagnostic.file`` and ``Diagnostic.line``).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.verdict import Diagnostic


class WarpgradeError(Exception):
    """Raised when grading cannot go on; never raised itself, only its children are."""

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
    """Raised when the submitted file settles its own verdict before or while it runs.

    ``verdict`` is one of the words of `grader.verdict.VERDICTS` (``invalid``, ``compile_error``, ``policy``,
    ``limit``, ``timeout``, ``crash`` …). ``diagnostics`` say where; without them ``place`` has fields of the one
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
    """Raised when this machine lacks something, or the simulator does not know an instruction."""

    exit_code = 4

    def __init__(self, message: str, *, diagnostics: tuple[Diagnostic, ...] = (), hint: str = "") -> None:
        from grader.verdict import Diagnostic

        super().__init__(message, hint=hint)
        self.diagnostics = diagnostics or (Diagnostic(kind="unsupported", message=message, hint=hint),)


class GraderFault(WarpgradeError):
    """Raised when the grader itself failed: a child died for a reason that is not the student's."""


REPORT = "This is the grader's fault, not yours. Please report it, with what WARPGRADE_DEBUG=1 prints."


def as_fault(error: BaseException) -> WarpgradeError:
    """Return ``error`` as one of ours: an unexpected exception becomes a GraderFault that names it and its place.

    WARPGRADE_DEBUG=1 prints the traceback.
    """
    import traceback

    if os.environ.get("WARPGRADE_DEBUG", "") not in ("", "0"):
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, WarpgradeError):
        return error
    frames = traceback.extract_tb(error.__traceback__)
    place = f" (in {Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return GraderFault(f"the grader itself failed: {type(error).__name__}: {error}{place}", hint=REPORT)
