"""Figures of a statement, counted again: a claim that nothing checks is wrong some day.

    <!-- claim: stub excess_wavefronts per rows = 39 -->
    <!-- claim: wrong/modulo.diff shared_requests per n <= 150/256 -->

A comment in README.md, which no reader sees, names a file (``stub``, ``solution`` or a wrong answer), a counter of
docs/counters.md at the simulated size, and what it must be. The file must get as far as being counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from grader.catalog.courses import CourseExercise
from grader.dev.problem import Problem
from grader.errors import GraderFault
from grader.expressions import ExpressionError, evaluate
from grader.grading.technique import in_words, total
from grader.verdict import Verdict

_COMMENT = re.compile(r"<!--\s*claim:(.*?)-->", re.DOTALL)
_CLAIM = re.compile(r"(?P<file>\S+) (?P<counter>\w+)(?: per (?P<per>.+?))? (?P<sign>=|<=|>=) (?P<value>.+)")
_HOLDS: Mapping[str, Callable[[float, float], bool]] = {
    "=": lambda found, said: math.isclose(found, said, rel_tol=1e-9, abs_tol=1e-12),
    "<=": lambda found, said: found <= said * (1 + 1e-9),
    ">=": lambda found, said: found >= said * (1 - 1e-9),
}


@dataclass(frozen=True)
class Claim:
    """``counter``, divided by ``per``, is ``value`` (``=``), at most (``<=``) or at least (``>=``) that much."""

    file: str
    counter: str
    per: str
    sign: str
    value: str

    def __str__(self) -> str:
        return f"{self.file} {self.counter}{f' per {self.per}' if self.per else ''} {self.sign} {self.value}"


def claim_problems(entry: CourseExercise, verdicts: Mapping[str, Verdict]) -> Iterator[Problem]:
    """Yield the claims of the statement that do not hold. ``verdicts`` has the simulator's by the names of claims."""
    place = entry.statement.name
    text = entry.statement.read_text(encoding="utf-8") if entry.statement.is_file() else ""
    for comment in _COMMENT.findall(text):
        match = _CLAIM.fullmatch(" ".join(comment.split()))
        if match is None:
            yield Problem(place, f"not a claim that can be read: {comment.strip()!r}")
            continue
        claim = Claim(**{name: value or "" for name, value in match.groupdict().items()})
        wrong = _wrong(entry, claim, verdicts)
        if wrong:
            yield Problem(place, f"the claim `{claim}` does not hold: {wrong}")


def _wrong(entry: CourseExercise, claim: Claim, verdicts: Mapping[str, Verdict]) -> str:
    """Return in words why a claim does not hold, "" if it does."""
    verdict = verdicts.get(claim.file)
    if verdict is None:
        return f"there is no {claim.file}; the files are {', '.join(verdicts)}"
    if not verdict.launches:
        return f"it is {verdict.verdict}, so nothing was counted"
    sizes = dict(entry.exercise.simulated)
    try:
        found = total(claim.counter, verdict.launches, verdict.host_counters or None) / float(
            evaluate(claim.per or "1", sizes)
        )
        said = float(Fraction(claim.value))
    except (ExpressionError, GraderFault) as error:
        return error.message
    except ValueError:
        return f"{claim.value!r} is no number, nor a fraction like 150/256"
    return "" if _HOLDS[claim.sign](found, said) else f"it is {in_words(found)}"
