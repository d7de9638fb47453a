"""The user's progress together with the catalogue: recording a run, and finding the next exercise.

The next exercise is the first one after the last passed that is not passed and that this machine can grade.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from grader.catalog.courses import CourseExercise, built_in_course
from grader.catalog.exercises import Catalog
from grader.frozen import dataclass
from grader.gpus.models import simulable
from grader.output import tell_once
from grader.paths import data_folder
from grader.practice.progress import BUILT_IN, FILE, Progress, Run, now
from grader.verdict import Verdict

HASHED_BYTES = 1 << 20  # a larger file is not source code

Key = tuple[str, str]  # course and name


def progress() -> Progress:
    """The user's progress; a problem with its file is one line on standard error."""
    return Progress(data_folder(FILE), tell_once)


def key_of(entry: CourseExercise) -> Key:
    """The key of an exercise in the database: its course and its name."""
    return BUILT_IN if entry.course == built_in_course() else str(entry.course.exercises), entry.name


def recorder(entry: CourseExercise, path: Path) -> Callable[[Verdict], None]:
    """Return a function that records a verdict on the file with its current contents. It does nothing for solutions and
    wrong answers of the course: their verdicts are not the user's progress.
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
    """The next exercise and why: ``at`` is its index in the course, None if all are passed.

    ``after`` is the pass that it follows, None if nothing is passed yet or the search started over at the end of the
    course; ``open_before`` is the number of exercises before it that are not passed.
    """

    at: int | None
    after: Run | None = None
    open_before: int = 0


def following(keys: Sequence[Key], passes: Sequence[Run], can_be_graded: Callable[[int], bool]) -> Following:
    """Return the next exercise among ``keys``, which are in the order of the course.

    ``passes`` are passes, oldest first; ``can_be_graded`` says whether this machine can grade the exercise at an index,
    and is called only for candidates.
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
    """The first exercise after the last passed that is not passed; None if all that can be graded here are passed.

    ``passing`` is an exercise whose pass is not recorded yet. An exercise for more GPUs than this machine has, which
    is graded on the simulator, comes after all others.
    """
    keys = [key_of(entry) for entry in catalog.exercises]
    passes = [*progress().passes()]
    if passing is not None:
        passes.append(Run(now(), *key_of(passing), "pass", 0, 0, ""))

    def first_that(fits: Callable[[CourseExercise], bool]) -> Following:
        return following(keys, passes, lambda at: fits(catalog.exercises[at]))

    def has_gpus(entry: CourseExercise) -> bool:
        return entry.exercise.gpus == 1 or entry.exercise.gpus <= _gpus()

    preferred = first_that(lambda entry: gradable_here(entry) and has_gpus(entry))
    chosen = first_that(gradable_here) if preferred.at is None else preferred
    return (None if chosen.at is None else catalog.exercises[chosen.at]), chosen


def next_after(catalog: Catalog, entry: CourseExercise) -> str:
    """The name of the exercise that `grade next` will propose after this one's pass; "" if there is none."""
    chosen, _ = next_exercise(catalog, passing=entry)
    return chosen.name if chosen is not None else ""


def gradable_here(entry: CourseExercise) -> bool:
    """Whether the simulator or a GPU of this machine can grade the exercise."""
    return simulable(entry.exercise.requires) or (_gpus() > 0 and _serves(entry.exercise.requires))


def _serves(requires: str) -> bool:
    """Whether the first GPU of this machine can run the exercise; always if the simulated device can."""
    from grader.gpus.detect import detect

    return simulable(requires) or not detect().why_not(requires)


@cache
def _gpus() -> int:
    from grader.gpus.detect import count

    return count()
