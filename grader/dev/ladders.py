"""Ladders: steps that share their arrays and sizes, each of which must be told from the one before. Pure.

A step's solution is graded on the earlier steps' technique by inheritance (`CourseExercise.graded`).
Here the other direction is checked: the step before must not pass this one, by technique or by time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.dev.problem import Problem
from grader.gpus.architecture import SIMULATED, capability
from grader.gpus.pass_lines import REFERENCE, Line, lines_on
from grader.grading.technique import Miss, evaluate
from grader.timing.samples import SLOW_BELOW
from grader.verdict import LaunchRecord

SHARED = ("arrays", "oracle", "small", "secret", "simulated", "timed", "scalars", "work", "tolerance", "exact", "host")
"""Fields that all steps of a ladder have in common, so that any step's file can be graded as any other."""

Launches = Mapping[str, Sequence[LaunchRecord]]
"""What each step's solution did at the simulated size, by the step's name."""


@dataclass(frozen=True)
class Cell:
    """One step's solution under a later step's grading. ``slow`` is None where no line is known."""

    solution: str
    step: str
    missed: tuple[Miss, ...]
    slow: bool | None

    @property
    def rejected(self) -> bool:
        return bool(self.missed) or bool(self.slow)


def ladders(exercises: Sequence[CourseExercise]) -> list[tuple[str, list[CourseExercise]]]:
    """Each ladder of each course that has two steps or more: its name, and its steps in order."""
    found: dict[tuple[Path, str], list[CourseExercise]] = {}
    for one in exercises:
        if one.exercise.ladder:
            found.setdefault((one.course.exercises, one.exercise.ladder), []).append(one)
    in_order = {key: sorted(steps, key=lambda one: one.number) for key, steps in found.items()}
    return [(name, steps) for (_, name), steps in in_order.items() if len(steps) > 1]


def ladder_problems(steps: Sequence[CourseExercise], launches: Launches) -> Iterator[Problem]:
    """Yield what the steps do not share, and each step whose predecessor passes it."""
    for one in steps[1:]:
        for field in SHARED:
            if getattr(one.exercise, field) != getattr(steps[0].exercise, field):
                yield Problem("exercise.py", f"{one.name} has other {field} than {steps[0].name}")
    for before, one in pairwise(steps):
        cell = compared(before, one, launches)
        if cell is not None and not cell.rejected and not _unknown(one, cell):
            yield Problem(
                "exercise.py",
                f"the solution of {before.name} passes {one.name}: no technique tells them apart, nor does time",
            )


def _unknown(one: CourseExercise, cell: Cell) -> bool:
    """A step that the simulator cannot run is told from the others by time alone, which somebody has to measure."""
    return capability(one.exercise.requires) > SIMULATED and cell.slow is None


def matrix(steps: Sequence[CourseExercise], launches: Launches) -> list[Cell]:
    """Every step's solution under every later step."""
    pairs = [(before, one) for at, one in enumerate(steps) for before in steps[:at]]
    return [cell for before, one in pairs if (cell := compared(before, one, launches)) is not None]


def compared(before: CourseExercise, one: CourseExercise, launches: Launches) -> Cell | None:
    """The earlier solution under the later step; None where it was not counted."""
    counted = launches.get(before.name)
    if not counted:
        return None
    found = (evaluate(expect, counted, one.exercise.simulated) for expect in one.graded.technique)
    return Cell(before.name, one.name, tuple(miss for miss in found if miss is not None), _slow(before.name, one.name))


def _slow(before: str, one: str) -> bool | None:
    """Whether the earlier solution is too slow for the later line, on the reference GPU; None where nobody knows."""
    lines = lines_on(REFERENCE)
    earlier: Line | None = lines.get(before)
    later: Line | None = lines.get(one)
    if earlier is None or later is None or earlier.of != later.of:
        return None
    return earlier.solution < SLOW_BELOW * later.fraction
