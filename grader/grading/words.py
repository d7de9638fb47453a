"""From what a backend found to the verdict's word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from grader.errors import GraderFault
from grader.verdict import VERDICTS, Diagnostic

if TYPE_CHECKING:
    from grader.backends.base import Execution

_KINDS: Mapping[str, tuple[str, ...]] = {
    "race": (
        "race", "missing_fence", "missing_async_wait", "inactive_lane", "missing_lanes",
        "missing_wait", "unfinished", "host_conflict",
    ),
    "out_of_bounds": ("out_of_bounds", "null", "read_only", "guard"),
    "crash": ("crash", "misaligned", "trap", "assert", "bad_mask", "stack_overflow", "illegal_instruction",
              "use_after_free", "cuda_error", "not_cooperative"),
    "limit": ("limit", "print_limit", "launch_limit"),
    "unsupported": ("unsupported", "outside"),
    "timeout": ("timeout", "deadlock", "barrier_divergence", "instruction_budget", "wall_clock"),
}  # fmt: skip

WORDS: Mapping[str, str] = {kind: word for word, kinds in _KINDS.items() for kind in kinds}
"""Diagnostic kind -> verdict word; a kind that is not listed is a verdict word itself (docs/verdicts.md)."""


def word_of(diagnostic: Diagnostic) -> str | None:
    """Return the verdict word that an error settles; a warning or a note settles none."""
    if diagnostic.severity != "error":
        return None
    word = WORDS.get(diagnostic.kind, diagnostic.kind)
    if word not in VERDICTS:
        raise GraderFault(f"a backend reported {diagnostic.kind!r}, for which there is no verdict word")
    return word


def first_word(diagnostics: Iterable[Diagnostic]) -> str | None:
    """Return the word of the first diagnostic that settles one."""
    return next((word for word in map(word_of, diagnostics) if word), None)


def failure_word(execution: Execution) -> str | None:
    """Return the word that ends a case, or None where it ran: the backend's own word first, then its diagnostics'."""
    if execution.failure is None:
        return first_word(execution.diagnostics)
    word = WORDS.get(execution.failure, execution.failure)
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
