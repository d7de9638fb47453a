"""What stub, solution and wrong answers were graded to, against what they should be. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten

from grader.catalog.courses import CourseExercise
from grader.dev.expectations import Expectation
from grader.dev.problem import Problem
from grader.gpus.architecture import simulable
from grader.grading.technique import evaluate
from grader.verdict import Verdict

FAILING = 2
"""Wrong answers of an exercise that the simulator must reject, at least."""


@dataclass(frozen=True)
class Graded:
    """The verdicts of one exercise's files on one backend. ``mutants`` holds those that name it on their first line."""

    backend: str
    stub: Verdict | None = None
    solution: Verdict | None = None
    mutants: Mapping[Path, Verdict] = field(default_factory=dict)

    @property
    def by_name(self) -> Mapping[str, Verdict]:
        """The verdicts by the names that claims use: ``stub``, ``solution``, ``wrong/copy.diff``."""
        named = {"stub": self.stub, "solution": self.solution}
        mutants = {f"wrong/{path.name}": verdict for path, verdict in self.mutants.items()}
        return {name: verdict for name, verdict in named.items() if verdict is not None} | mutants


def verdict_problems(entry: CourseExercise, graded: Graded, expected: Mapping[Path, Expectation]) -> Iterator[Problem]:
    """Yield every verdict that is not as it should be."""
    runs = graded.backend == "gpu" or simulable(entry.exercise.requires)
    if graded.stub is not None:
        yield from _stub(entry, graded.stub, runs)
    if graded.solution is not None:
        yield from _solution(entry, graded.solution, runs)
    for path, verdict in graded.mutants.items():
        yield from _mutant(path, verdict, expected[path].words[graded.backend])
    if graded.backend == "sim" and runs:
        yield from _enough(graded)
        yield from _toothless(entry, graded)


def _stub(entry: CourseExercise, verdict: Verdict, runs: bool) -> Iterator[Problem]:
    place = entry.stub.name
    if verdict.stage("compiles").status != "passed":
        yield Problem(place, f"the stub does not compile: {told(verdict)}")
    elif verdict.exit_code != 1 and runs:
        yield Problem(place, f"the untouched stub must not pass: {told(verdict)}")


def _solution(entry: CourseExercise, verdict: Verdict, runs: bool) -> Iterator[Problem]:
    place = f"solution {entry.name}.cu"
    if verdict.stage("compiles").status != "passed" or (runs and not _as_good(verdict)):
        yield Problem(place, f"the solution does not pass: {told(verdict)}")
        return
    if runs:
        yield from (Problem(place, f"{found.severity}: {found.message}") for found in verdict.diagnostics)
        yield from (Problem(place, note) for note in verdict.notes)


def _as_good(verdict: Verdict) -> bool:
    """Whether it passed, or misses only a pass line that was set on another GPU model."""
    guessed = verdict.measured is not None and verdict.measured.provisional
    return verdict.passed or (guessed and verdict.verdict in ("slow", "inconclusive"))


def _mutant(path: Path, verdict: Verdict, word: str) -> Iterator[Problem]:
    provisional = verdict.measured is not None and verdict.measured.provisional
    if verdict.verdict != word and not (word == "slow" and provisional):
        yield Problem(f"wrong/{path.name}", f"expected {word} on {verdict.backend}, got {told(verdict)}")


def _enough(graded: Graded) -> Iterator[Problem]:
    failing = sum(verdict.exit_code == 1 for verdict in graded.mutants.values())
    if failing < FAILING:
        yield Problem("wrong/", f"the simulator rejects {failing} wrong answers; it must be {FAILING} or more")


def _toothless(entry: CourseExercise, graded: Graded) -> Iterator[Problem]:
    """An expectation that no wrong answer misses says nothing: it could be mistaken and nobody would see it."""
    counted = [(v.launches, v.host_counters) for v in graded.by_name.values() if v.verdict == "technique"]
    for expect in entry.exercise.technique:
        if not any(evaluate(expect, launches, entry.exercise.simulated, host) for launches, host in counted):
            yield Problem("wrong/", f"no wrong answer misses what is expected of {expect.counter}: add one that does")


def told(verdict: Verdict) -> str:
    """A verdict in a line: its word and what was found first."""
    found = verdict.diagnostics[0] if verdict.diagnostics else None
    if found is None:
        return verdict.verdict
    where = f" (line {found.line})" if found.line else ""
    return f"{verdict.verdict}: {shorten(found.message, 300, placeholder=' …')}{where}"
