"""The grader's own mistakes, told without a traceback unless WARPGRADE_DEBUG=1 asks for it."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from grader.errors import GraderFault, WarpgradeError

REPORT = "This is the grader's fault, not yours. Please report it, with what WARPGRADE_DEBUG=1 prints."


def as_fault(error: BaseException) -> WarpgradeError:
    """Return ``error`` as one of ours: an unexpected exception becomes a GraderFault that names it and its place."""
    if debugging():
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, WarpgradeError):
        return error
    fault = GraderFault(f"the grader itself failed: {type(error).__name__}: {error}{_place(error)}", hint=REPORT)
    fault.__cause__ = error
    return fault


def debugging() -> bool:
    return os.environ.get("WARPGRADE_DEBUG", "") not in ("", "0")


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f" (in {Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
