"""Ladders: steps with common arrays and sizes; each must differ from the one before in technique or in time. Pure.

A step's solution is graded on the earlier steps' technique by inheritance (`CourseExercise.graded`).
This module checks the other direction: the solution of the step before must fail this step, by technique or by time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.dev.report import Problem
from grader.frozen import dataclass
from grader.gpus.models import simulable
from grader.grading.technique import Miss, evaluate, is_in_code
from grader.timing.pass_lines import REFERENCE, lines_on
from grader.timing.samples import SLOW_BELOW
from grader.verdict import LaunchRecord

SHARED = ("arrays", "oracle", "secret", "simulated", "timed", "scalars", "work", "tolerance", "exact", "host")
"""Fields that all steps of a ladder have in common, so that any step's file can be graded as any other. They have the
first step's small sizes, too; a later step may have more.
"""

Launches = Mapping[str, Sequence[LaunchRecord]]
"""The launches of each step's solution at the simulated size, by the step's name; of a step that the simulator cannot
run those of `grader.dev.verdicts.code_launches`.
"""


@dataclass(frozen=True)
class LadderCell:
    """One step's solution graded as a later step: the expectations it misses, and whether it is too slow for the later
    step's line on the reference GPU (None if no line is known).
    """

    solution: str
    step: str
    missed: tuple[Miss, ...]
    slow: bool | None

    @property
    def rejected(self) -> bool:
        return bool(self.missed) or bool(self.slow)


def ladders(exercises: Sequence[CourseExercise]) -> list[tuple[str, list[CourseExercise]]]:
    """Each ladder with two or more steps, of each course: its name, and its steps in order."""
    steps_of: dict[tuple[Path, str], list[CourseExercise]] = {}
    for entry in exercises:
        if entry.exercise.ladder:
            steps_of.setdefault((entry.course.exercises, entry.exercise.ladder), []).append(entry)
    in_order = {key: sorted(steps, key=lambda step: step.number) for key, steps in steps_of.items()}
    return [(name, steps) for (_, name), steps in in_order.items() if len(steps) > 1]


def ladder_problems(steps: Sequence[CourseExercise], launches: Launches) -> Iterator[Problem]:
    """Yield fields in which the steps differ, and each step that its predecessor's solution passes."""
    for step in steps[1:]:
        for field in SHARED:
            if getattr(step.exercise, field) != getattr(steps[0].exercise, field):
                yield Problem("exercise.py", f"{step.name} and {steps[0].name} differ in {field}")
        if any(size not in step.exercise.small for size in steps[0].exercise.small):
            yield Problem("exercise.py", f"{step.name} and {steps[0].name} differ in small")
    for before, step in pairwise(steps):
        cell = compared(before, step, launches)
        if cell is not None and not cell.rejected:
            yield Problem(
                "exercise.py",
                f"the solution of {before.name} passes {step.name}: they differ neither in technique nor in time",
            )


def matrix(steps: Sequence[CourseExercise], launches: Launches) -> list[LadderCell]:
    """Every step's solution, graded as every later step."""
    pairs = [(before, step) for at, step in enumerate(steps) for before in steps[:at]]
    return [cell for before, step in pairs if (cell := compared(before, step, launches)) is not None]


def compared(before: CourseExercise, entry: CourseExercise, launches: Launches) -> LadderCell | None:
    """The earlier solution graded as the later step; None if it has no counters.

    Where the simulator runs one of them only, or none, the expectations on code are all that is graded.
    """
    counted = launches.get(before.name)
    if not counted:
        return None
    runs = all(simulable(each.exercise.requires) for each in (before, entry))
    expected = (expect for expect in entry.graded.technique if runs or is_in_code(expect))
    results = (evaluate(expect, counted, entry.exercise.simulated) for expect in expected)
    missed = tuple(miss for miss in results if miss is not None)
    lines = lines_on(REFERENCE)
    earlier, later = lines.get(before.name), lines.get(entry.name)
    slow = None
    if earlier is not None and later is not None and earlier.of == later.of:
        slow = earlier.solution < SLOW_BELOW * later.fraction
    return LadderCell(before.name, entry.name, missed, slow)
