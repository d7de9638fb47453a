"""Ladders: steps that share arrays and sizes; each must differ from the one before in technique or in time. Pure.

A step's solution is graded on the earlier steps' technique by inheritance (`CourseExercise.graded`).
Here the other direction is checked: the step before must not pass this one, by technique or by time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.dev.report import Problem
from grader.gpus.models import simulable
from grader.grading.technique import Miss, evaluate
from grader.timing.pass_lines import REFERENCE, lines_on
from grader.timing.samples import SLOW_BELOW
from grader.verdict import LaunchRecord

SHARED = ("arrays", "oracle", "small", "secret", "simulated", "timed", "scalars", "work", "tolerance", "exact", "host")
"""Fields that all steps of a ladder have in common, so that any step's file can be graded as any other."""

Launches = Mapping[str, Sequence[LaunchRecord]]
"""What each step's solution did at the simulated size, by the step's name."""


@dataclass(frozen=True)
class LadderCell:
    """One step's solution under a later step's grading: what it misses, and whether it is too slow for the later line
    on the reference GPU (None where no line is known).
    """

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
    for entry in exercises:
        if entry.exercise.ladder:
            found.setdefault((entry.course.exercises, entry.exercise.ladder), []).append(entry)
    in_order = {key: sorted(steps, key=lambda step: step.number) for key, steps in found.items()}
    return [(name, steps) for (_, name), steps in in_order.items() if len(steps) > 1]


def ladder_problems(steps: Sequence[CourseExercise], launches: Launches) -> Iterator[Problem]:
    """Yield what the steps do not share, and each step whose predecessor passes it."""
    for step in steps[1:]:
        for field in SHARED:
            if getattr(step.exercise, field) != getattr(steps[0].exercise, field):
                yield Problem("exercise.py", f"{step.name} has other {field} than {steps[0].name}")
    for before, step in pairwise(steps):
        cell = compared(before, step, launches)
        # A step that the simulator cannot run differs from the others by time alone, which has to be measured.
        unknown = cell is not None and cell.slow is None and not simulable(step.exercise.requires)
        if cell is not None and not cell.rejected and not unknown:
            yield Problem(
                "exercise.py",
                f"the solution of {before.name} passes {step.name}: no technique tells them apart, nor does time",
            )


def matrix(steps: Sequence[CourseExercise], launches: Launches) -> list[LadderCell]:
    """Every step's solution under every later step."""
    pairs = [(before, step) for at, step in enumerate(steps) for before in steps[:at]]
    return [cell for before, step in pairs if (cell := compared(before, step, launches)) is not None]


def compared(before: CourseExercise, entry: CourseExercise, launches: Launches) -> LadderCell | None:
    """The earlier solution under the later step; None where it was not counted."""
    counted = launches.get(before.name)
    if not counted:
        return None
    found = (evaluate(expect, counted, entry.exercise.simulated) for expect in entry.graded.technique)
    missed = tuple(miss for miss in found if miss is not None)
    lines = lines_on(REFERENCE)
    earlier, later = lines.get(before.name), lines.get(entry.name)
    slow = None
    if earlier is not None and later is not None and earlier.of == later.of:
        slow = earlier.solution < SLOW_BELOW * later.fraction
    return LadderCell(before.name, entry.name, missed, slow)
