"""Which exercise comes next: the first open one after the one passed last, among those that this machine can grade."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache

from grader.catalog.exercises import Catalog, CourseExercise
from grader.gpus.architecture import simulable
from grader.practice.history import key_of, progress
from grader.practice.progress import Run, now

Key = tuple[str, str]  # course and name


@dataclass(frozen=True)
class Following:
    """``at`` is the place of the next exercise in the course, None where all are passed.

    ``after`` is the pass that it follows, None where nothing is passed yet or the end of the course was reached and
    it starts over; ``open_before`` counts the exercises before it that are still open.
    """

    at: int | None
    after: Run | None = None
    open_before: int = 0


def following(keys: Sequence[Key], passes: Sequence[Run], can_be_graded: Callable[[int], bool]) -> Following:
    """Return what comes next among ``keys``, which are in the order of the course.

    ``passes`` are passes, oldest first; ``can_be_graded`` says whether this machine can grade the exercise
    at a place, and is asked only for those that matter.
    """
    known = [run for run in passes if _key(run) in keys]
    passed = {_key(run) for run in known}
    last = known[-1] if known else None
    behind = keys.index(_key(last)) + 1 if last is not None else 0
    at = _first_open(keys, passed, range(behind, len(keys)), can_be_graded)
    if at is None:
        return Following(_first_open(keys, passed, range(behind), can_be_graded))
    open_before = sum(keys[n] not in passed and can_be_graded(n) for n in range(at))
    return Following(at, last, open_before)


def _first_open(
    keys: Sequence[Key], passed: Collection[Key], places: range, can_be_graded: Callable[[int], bool]
) -> int | None:
    return next((at for at in places if keys[at] not in passed and can_be_graded(at)), None)


def _key(run: Run) -> Key:
    return run.course, run.exercise


def next_exercise(catalog: Catalog, passing: CourseExercise | None = None) -> tuple[CourseExercise | None, Following]:
    """The first exercise that is open behind the one passed last, None where all are passed that can be graded here.

    ``passing`` is one whose pass is not recorded yet. An exercise that needs more GPUs than there are, which the
    simulator stands in for, comes behind all others.
    """
    keys = [key_of(entry) for entry in catalog.exercises]
    passes = [*progress().passes()]
    if passing is not None:
        passes.append(Run(now(), *key_of(passing), "pass", 0, 0, ""))

    def found(fits: Callable[[CourseExercise], bool]) -> Following:
        return following(keys, passes, lambda at: fits(catalog.exercises[at]))

    first = found(lambda entry: gradable_here(entry) and not _has_too_few_gpus(entry))
    chosen = found(gradable_here) if first.at is None else first
    return (None if chosen.at is None else catalog.exercises[chosen.at]), chosen


def next_after(catalog: Catalog, entry: CourseExercise) -> str:
    """The name of the exercise that `grade next` will propose once this one's pass is recorded; "" where none is."""
    chosen, _ = next_exercise(catalog, passing=entry)
    return chosen.name if chosen is not None else ""


def gradable_here(entry: CourseExercise) -> bool:
    """Whether the simulator or a GPU of this machine can grade the exercise."""
    return simulable(entry.exercise.requires) or (_gpus() > 0 and _serves(entry.exercise.requires))


def _serves(requires: str) -> bool:
    """Whether the first GPU here is of the kind; one that is not newer than the simulated device always is."""
    from grader.gpus.detect import detect

    return simulable(requires) or not detect().why_not(requires)


def _has_too_few_gpus(entry: CourseExercise) -> bool:
    return entry.exercise.gpus > 1 and entry.exercise.gpus > _gpus()


@cache
def _gpus() -> int:
    from grader.gpus.detect import count

    return count()
