"""The progress of the person at the keyboard, beside the catalogue: what is recorded, and which exercise comes next.

Next is the first open exercise after the one passed last, among those that this machine can grade.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.catalog.courses import CourseExercise, built_in_course
from grader.catalog.exercises import Catalog
from grader.gpus.models import simulable
from grader.output import tell_once
from grader.paths import data_folder
from grader.practice.progress import BUILT_IN, FILE, Progress, Run, now
from grader.verdict import Verdict

HASHED_BYTES = 1 << 20  # what is larger is no source

Key = tuple[str, str]  # course and name


def progress() -> Progress:
    """The person's progress; a trouble with its file is one line on standard error."""
    return Progress(data_folder(FILE), tell_once)


def key_of(entry: CourseExercise) -> Key:
    """What an exercise is known by: its course and its name."""
    return BUILT_IN if entry.course == built_in_course() else str(entry.course.exercises), entry.name


def recorder(entry: CourseExercise, path: Path) -> Callable[[Verdict], None]:
    """Return what records a verdict on the file, as the file is now; for a solution or a wrong answer that ships with
    the course, whose verdict is nobody's progress, nothing does.
    """
    from hashlib import sha256

    with suppress(OSError, RuntimeError):  # a loop of links
        if entry.is_wrong_answer(path) or entry.course.solutions.resolve() in path.resolve().parents:
            return lambda verdict: None
    digest = None
    with suppress(OSError):
        if path.is_file() and path.stat().st_size <= HASHED_BYTES:
            digest = sha256(path.read_bytes()).hexdigest()

    def record(verdict: Verdict) -> None:
        measured = verdict.measured
        run = Run(
            now(), *key_of(entry), verdict.verdict, verdict.score, verdict.max_score, verdict.backend,
            median_s=measured.median_s if measured else None,
            fraction_of_peak=measured.fraction_of_peak if measured else None,
            gpu=verdict.device if "gpu" in verdict.backend else None,
            file_sha256=digest,
        )  # fmt: skip
        progress().record(run)

    return record


# ----------------------------------------------------------------------------------------------------------------- next


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
    known = [run for run in passes if (run.course, run.exercise) in keys]
    passed = [(run.course, run.exercise) for run in known]
    after = keys.index(passed[-1]) + 1 if passed else 0

    def is_open(at: int) -> bool:
        return keys[at] not in passed and can_be_graded(at)

    at = next(filter(is_open, range(after, len(keys))), None)
    if at is None:
        return Following(next(filter(is_open, range(after)), None))
    return Following(at, known[-1] if known else None, sum(map(is_open, range(at))))


def next_exercise(catalog: Catalog, passing: CourseExercise | None = None) -> tuple[CourseExercise | None, Following]:
    """The first exercise that is open after the one passed last, None where all are passed that can be graded here.

    ``passing`` is one whose pass is not recorded yet. An exercise that needs more GPUs than there are, which the
    simulator stands in for, comes after all others.
    """
    keys = [key_of(entry) for entry in catalog.exercises]
    passes = [*progress().passes()]
    if passing is not None:
        passes.append(Run(now(), *key_of(passing), "pass", 0, 0, ""))

    def found(fits: Callable[[CourseExercise], bool]) -> Following:
        return following(keys, passes, lambda at: fits(catalog.exercises[at]))

    first = found(lambda one: gradable_here(one) and (one.exercise.gpus == 1 or one.exercise.gpus <= _gpus()))
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


@cache
def _gpus() -> int:
    from grader.gpus.detect import count

    return count()
