"""Whether a host file's wrong output would be right for inputs that were there before: what was copied too early.

`setup` and the first run see warm-up inputs (`grader.backends.hostfile.case`): a result of theirs differs from others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from grader.findings.record import Finding

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.exercise import Exercise
    from grader.grading.cases import CaseBook
    from grader.grading.records import Case

    Arrays = Mapping[str, npt.NDArray[np.generic]]

TURNS = {1: "when setup was called", 2: "in the run before"}
"""The warm-up inputs by their number, and when they were there."""

LEAST_VALUES = 4
"""Distinct results that have to agree, unless they are real numbers: small integers agree by chance."""


def with_time(found: Finding, exercise: Exercise, case: Case, book: CaseBook, outputs: Arrays) -> Finding:
    """``found`` with the fact since when the inputs are out of date, where the outputs show it."""
    if not exercise.host or not _telling(case, outputs):
        return found
    words = next(_fitting(exercise, case, book, outputs), "")
    return since(found, words) if words else found


def has_time(found: Finding) -> bool:
    """Whether it says since when the inputs are out of date."""
    return "since" in found.facts


OF_VALUES = ("near", "multiple")
"""Guesses at how values were computed (`grader.compare.guesses`): old or unordered values lead them astray."""


def without_values(found: Finding) -> Finding:
    """Return a wrong output without the guess at how its values were computed, if it has one."""
    return replace(found, cause="") if found.cause in OF_VALUES else found


def since(found: Finding, words: str) -> Finding:
    """Old samples often give nearly the same answer: that is not a matter of precision then."""
    return replace(without_values(found), facts={**found.facts, "since": words})


def _telling(case: Case, outputs: Arrays) -> bool:
    import numpy as np

    return all(case.values == "real" or len(np.unique(values)) >= LEAST_VALUES for values in outputs.values())


def _fitting(exercise: Exercise, case: Case, book: CaseBook, outputs: Arrays) -> Iterator[str]:
    """Yield what the outputs are right for: some inputs as they were at another time, the others as they should be."""
    from grader.backends.hostfile.case import warm_up_inputs
    from grader.compare import compare

    now = book.data(case).inputs
    for turn, then in TURNS.items():
        before = warm_up_inputs(exercise, now, turn)
        for names in _parts(tuple(now)):
            mixed = {**now, **{name: before[name] for name in names}}
            expected = book.answer(case, mixed)
            if expected is not None and compare(exercise, case.size, case.values, outputs, expected, mixed) is None:
                yield f"what was in {' and '.join(names)} {then}"


def _parts(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the names that may be out of date together, more before fewer."""
    for count in range(len(names), 0, -1):
        yield from combinations(names, count)
