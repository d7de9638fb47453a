"""The user's progress together with the catalogue: recording a run, and finding the next exercise.

The next exercise is the first one after the last passed that is not passed and that this machine can grade; in a
chosen path it is the first such exercise of the path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path

from grader.catalog.courses import CourseExercise, built_in_course
from grader.catalog.exercises import Catalog
from grader.catalog.paths import CoursePath
from grader.catalog.versions import versions_at
from grader.frozen import dataclass
from grader.gpus.models import simulable
from grader.output import tell_once
from grader.paths import data_folder
from grader.practice.chosen import chosen_path
from grader.practice.progress import BUILT_IN, FILE, Key, Predicted, Progress, Run, now, stored
from grader.verdict import Verdict

HASHED_BYTES = 1 << 20  # a larger file is not source code


def progress() -> Progress:
    """The user's progress; a problem with its file is one line on standard error."""
    return Progress(data_folder(FILE), tell_once)


def key_of(entry: CourseExercise) -> Key:
    """The key of an exercise in the database: its course, its name, and the course's version."""
    return keys_of(entry)[0]


def keys_of(entry: CourseExercise) -> tuple[Key, ...]:
    """The keys under which the exercise's runs and hints are stored: the current one first, then those of older
    versions of its course, in which it may have had other names.
    """
    course = BUILT_IN if entry.course == built_in_course() else str(entry.course.exercises)
    return tuple((course, *former) for former in versions_at(entry.course.exercises).former(entry.name))


def gone_keys(catalog: Catalog) -> frozenset[Key]:
    """The keys of exercises that older versions of these courses had, and the current ones do not have."""
    courses = {key_of(entry)[0]: entry.course for entry in catalog.exercises}
    return frozenset((key, *step) for key, course in courses.items() for step in versions_at(course.exercises).gone())


def is_passed(entry: CourseExercise) -> bool:
    """Whether the exercise was passed once, under any of its names."""
    return not progress().passed().isdisjoint(keys_of(entry))


def hints_seen(entry: CourseExercise) -> int:
    """How many of its hints were shown."""
    seen = progress().hints_seen()
    return max(seen.get(key, 0) for key in keys_of(entry))


def hints_since(entry: CourseExercise, time: datetime) -> int:
    """How many of its hints were shown since a time, repeated ones included."""
    shown = progress().hints_since(stored(time))
    return sum(shown.get(key, 0) for key in keys_of(entry))


def last_interview(entry: CourseExercise, variant: str) -> str:
    """When the exercise, or a variant of it, was last passed in an interview; "" if it never was."""
    passed = progress().interviews()
    return max(passed.get((key, variant), "") for key in keys_of(entry))


def recorder(entry: CourseExercise, path: Path) -> Callable[[Verdict], None]:
    """Return a function that records a verdict on the file with its current contents. It does nothing for solutions and
    wrong answers of the course: their verdicts are not the user's progress.
    """
    from hashlib import sha256

    with suppress(OSError, RuntimeError):  # a loop of links
        if entry.is_wrong_answer(path) or entry.course.solutions.resolve() in path.resolve().parents:
            return lambda verdict: None
    course, name, version = key_of(entry)
    digest = None
    with suppress(OSError):
        if path.is_file() and path.stat().st_size <= HASHED_BYTES:
            digest = sha256(path.read_bytes()).hexdigest()

    def record(verdict: Verdict) -> None:
        measured = verdict.measured
        run = Run(
            now(), course, name, verdict.verdict, verdict.score, verdict.max_score, verdict.backend,
            median_s=measured.median_s if measured else None,
            fraction_of_peak=measured.fraction_of_peak if measured else None,
            gpu=verdict.device if "gpu" in verdict.backend else None,
            file_sha256=digest,
            course_version=version,
        )  # fmt: skip
        progress().record(run, [
            Predicted(run.at, *run.key, each.counter, each.per, each.predicted, each.counted, each.right)
            for each in verdict.predictions
            if each.counted is not None
        ])  # fmt: skip

    return record


# ----------------------------------------------------------------------------------------------------------------- next


@dataclass(frozen=True)
class Following:
    """The next exercise and why: ``at`` is its index in the course, None if all are passed.

    ``after`` is the pass that it follows, of the exercise that is now called ``name``; None if nothing is passed yet or
    the search started over at the end of the course. ``open_before`` is the number of exercises before it that are not
    passed. If ``path`` is chosen, ``at`` is an index in it.
    """

    at: int | None
    after: Run | None = None
    open_before: int = 0
    name: str = ""
    path: CoursePath | None = None


def following(steps: Sequence[Sequence[Key]], passes: Sequence[Run], can_be_graded: Callable[[int], bool]) -> Following:
    """Return the next exercise among ``steps``, the keys of each exercise, which are in the order of the course.

    ``passes`` are passes, oldest first; ``can_be_graded`` says whether this machine can grade the exercise at an index,
    and is called only for candidates.
    """
    places = {key: at for at, keys in enumerate(steps) for key in keys}
    known = [run for run in passes if run.key in places]
    passed = [places[run.key] for run in known]
    after = passed[-1] + 1 if passed else 0

    def is_open(at: int) -> bool:
        return at not in passed and can_be_graded(at)

    at = next(filter(is_open, range(after, len(steps))), None)
    if at is None:
        return Following(next(filter(is_open, range(after)), None))
    if not known:
        return Following(at, None, sum(map(is_open, range(at))))
    return Following(at, known[-1], sum(map(is_open, range(at))), steps[passed[-1]][0][1])


def next_exercise(catalog: Catalog, passing: CourseExercise | None = None) -> tuple[CourseExercise | None, Following]:
    """The next exercise of the chosen path, else of the course; None if all that can be graded here are passed.

    In the course it is the first one after the last passed that is not passed, in a path the first that is not passed.
    ``passing`` is an exercise whose pass is not recorded yet. An exercise for more GPUs than this machine has, which
    is graded on the simulator, comes after all others.
    """
    passes = [*progress().passes()]
    if passing is not None:
        course, name, version = key_of(passing)
        passes.append(Run(now(), course, name, "pass", 0, 0, "", course_version=version))
    path = chosen_path(catalog)
    exercises = catalog.exercises if path is None else path.exercises
    steps = [keys_of(entry) for entry in exercises]

    def first_that(fits: Callable[[CourseExercise], bool]) -> Following:
        if path is None:
            return following(steps, passes, lambda at: fits(exercises[at]))
        passed = {run.key for run in passes}
        is_open = (at for at, keys in enumerate(steps) if passed.isdisjoint(keys) and fits(exercises[at]))
        return Following(next(is_open, None), path=path)

    def has_gpus(entry: CourseExercise) -> bool:
        return entry.exercise.gpus == 1 or entry.exercise.gpus <= _gpus()

    preferred = first_that(lambda entry: gradable_here(entry) and has_gpus(entry))
    chosen = first_that(gradable_here) if preferred.at is None else preferred
    return (None if chosen.at is None else exercises[chosen.at]), chosen


def next_after(catalog: Catalog, entry: CourseExercise) -> tuple[str, str]:
    """What `grade next` will propose after this exercise's pass, and the path that this pass finishes; "" for none."""
    chosen, reason = next_exercise(catalog, passing=entry)
    if chosen is None and reason.path is not None:
        return "", reason.path.name
    return (chosen.name if chosen is not None else ""), ""


def passed_names(exercises: Iterable[CourseExercise]) -> frozenset[str]:
    """The names of those of the exercises that the user has passed."""
    passed = progress().passed()
    return frozenset(entry.name for entry in exercises if passed and not passed.isdisjoint(keys_of(entry)))


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
