"""``grade next``: which exercise comes next. The report of a pass and the key ``n`` of ``grade watch`` ask here too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.catalog.exercises import Catalog, CourseExercise
from grader.cli.course import load, start_exercise
from grader.cli.history import key_of, progress
from grader.cli.output import say
from grader.cli.stubs import missing_here, named, to_edit

if TYPE_CHECKING:
    from grader.practice.following import Following


def show_next(courses: Sequence[Path], *, start: bool) -> int:
    """Print which exercise comes next and why; with ``start``, copy its stub here unless it is here."""
    catalog = load(courses)
    entry, found = next_exercise(catalog)
    if entry is None:
        say(all_passed(catalog))
        return 0
    here = not missing_here(entry)
    if start and not here:
        say(why_next(found))
        return start_exercise(entry.name, courses, force=False)
    say(f"{entry.number}  {entry.name}: {entry.exercise.idea}.")
    say(why_next(found))
    if here:
        edit = named(to_edit(entry))
        say(f"You have {edit} here: `grade {entry.name}` grades it, `grade show {entry.name}` explains the task.")
    else:
        say(f"`grade start {entry.name}` puts its stub here, and so does `grade next --start`.")
    return 0


def next_exercise(catalog: Catalog, passing: CourseExercise | None = None) -> tuple[CourseExercise | None, Following]:
    """The first exercise that is open behind the one passed last, None where all are passed that can be graded here.

    ``passing`` is one whose pass is not recorded yet. An exercise that needs more GPUs than there are, which the
    simulator stands in for, comes behind all others.
    """
    from grader.practice.following import following
    from grader.practice.progress import Run, now

    keys = [key_of(entry) for entry in catalog.exercises]
    passes = [*progress().passes()]
    if passing is not None:
        passes.append(Run(now(), *key_of(passing), "pass", 0, 0, ""))

    def found(fits: Callable[[CourseExercise], bool]) -> Following:
        return following(keys, passes, lambda at: fits(catalog.exercises[at]))

    first = found(lambda entry: gradable_here(entry) and not _has_too_few_gpus(entry))
    chosen = found(gradable_here) if first.at is None else first
    return (None if chosen.at is None else catalog.exercises[chosen.at]), chosen


def why_next(found: Following) -> str:
    """Why an exercise is the next one, in a sentence or two."""
    from grader.practice.progress import local_day

    if found.after is None:
        return "Next is the first exercise that you have not passed."
    words = f"Next after {found.after.exercise}, which you passed on {local_day(found.after.at)}."
    if found.open_before:
        before = "1 exercise before it is" if found.open_before == 1 else f"{found.open_before} exercises before it are"
        words += f" {before} still open: `grade progress` shows which."
    return words


def gradable_here(entry: CourseExercise) -> bool:
    """Whether the simulator or a GPU of this machine can grade the exercise."""
    from grader.grading import simulable

    return simulable(entry.exercise) or (_gpus() > 0 and _serves(entry.exercise.requires))


def _serves(requires: str) -> bool:
    """Whether the first GPU here is of the kind; one that is not newer than the simulated device always is."""
    from grader.gpus.architecture import SIMULATED, capability
    from grader.gpus.detect import detect

    return capability(requires) <= SIMULATED or not detect().why_not(requires)


def _has_too_few_gpus(entry: CourseExercise) -> bool:
    return entry.exercise.gpus > 1 and entry.exercise.gpus > _gpus()


@cache
def _gpus() -> int:
    from grader.gpus.detect import count

    return count()


def all_passed(catalog: Catalog) -> str:
    """What is said to who has passed everything that can be graded here."""
    if all(gradable_here(entry) for entry in catalog.exercises):
        return f"You have passed all {len(catalog.exercises)} exercises."
    return "You have passed every exercise that needs no GPU; `grade list` marks those that need one."
