"""What a host file's process says that went wrong, as an error of the submission: hostile data, believed in part.

The host file can write to its process's channel. So a word is taken only where it does not help the file, and a place
only in the file itself. Pure; the parent's side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.errors import SubmissionError
from grader.stages.words import WORDS
from grader.verdict import Diagnostic

FAULTS = ("invalid", "unsupported", "out_of_bounds", "timeout", "limit", "crash")
"""The verdict words that an exception of a host file, or a refusal of CUDA's, may end in; any other is a crash."""

LONGEST = 4000  # characters of a message


def told_error(answer: Mapping[str, Any], file: str) -> SubmissionError:
    """The error in an answer with ``fault``: of the host file ``file``, with its findings there."""
    told = answer.get("diagnostics")
    found = tuple(_finding(one, file) for one in told if isinstance(one, dict)) if isinstance(told, list) else ()
    word = answer.get("fault")
    message = str(answer.get("message", ""))[:LONGEST]
    return SubmissionError(word if word in FAULTS else "crash", message, diagnostics=found)


def _finding(told: Mapping[str, Any], file: str) -> Diagnostic:
    kind, message, hint = (str(told.get(name, ""))[:LONGEST] for name in ("kind", "message", "hint"))
    line = told.get("line")
    own = told.get("file") == file
    return Diagnostic(
        kind if WORDS.get(kind, kind) in FAULTS else "crash",
        message,
        file=file if own else None,
        line=line if own and type(line) is int and line > 0 else None,
        hint=hint,
    )
