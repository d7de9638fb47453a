"""From what a backend found to the verdict's word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from grader.errors import GraderFault
from grader.findings.kinds import word_of_kind
from grader.verdict import VERDICTS, Diagnostic

if TYPE_CHECKING:
    from grader.backends.base import Execution
    from grader.findings.record import Finding


def word_of(diagnostic: Diagnostic | Finding) -> str | None:
    """Return the verdict word that an error settles; a warning or a note settles none."""
    if diagnostic.severity != "error":
        return None
    word = word_of_kind(diagnostic.kind)
    if word not in VERDICTS:
        raise GraderFault(f"a backend reported {diagnostic.kind!r}, for which there is no verdict word")
    return word


def first_word(diagnostics: Iterable[Diagnostic | Finding]) -> str | None:
    """Return the word of the first diagnostic that settles one."""
    return next((word for word in map(word_of, diagnostics) if word), None)


def failure_word(execution: Execution) -> str | None:
    """Return the word that ends a case, or None where it ran: the backend's own word first, then its diagnostics'."""
    if execution.failure is None:
        return first_word((*execution.diagnostics, *execution.findings))
    word = word_of_kind(execution.failure)
    if word not in VERDICTS or word == "pass":
        raise GraderFault(f"a backend said that a run failed with {execution.failure!r}, which is no failure")
    return word


_TIMED = ("pass", "slow", "inconclusive", "cheat")
TIMING_WORDS = (*_TIMED, "unsupported", "unlined")
"""The words that the stage `fast` may come to; `unsupported`: this GPU cannot be timed for the exercise; `unlined`: it
was timed, but no pass line is known.
"""

_STAGES: Mapping[str, str] = {
    **dict.fromkeys(("compile_error", "invalid", "policy"), "compiles"),
    "wrong": "correct",
    "technique": "technique",
    **dict.fromkeys(_TIMED, "fast"),
}


def failure_stage(word: str) -> str:
    """Return the stage that a word of a backend ends: ``runs``, where it is of no other stage."""
    return _STAGES.get(word, "runs")
