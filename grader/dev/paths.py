"""Checks of what exercises build on (it exists, and comes first), and of the paths (each has a sentence)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import Catalog
from grader.catalog.paths import path_names, sentences
from grader.catalog.versions import FILE
from grader.dev.report import CheckReport, Problem
from grader.errors import UsageError
from grader.expressions import did_you_mean
from grader.gpus.models import simulable
from grader.text import counted


def path_report(exercises: Sequence[CourseExercise], known: Sequence[CourseExercise]) -> CheckReport | None:
    """The report on `Exercise.after` and `Exercise.paths`; None if the exercises have neither, or for a single one
    without a problem. ``known`` are all exercises of all courses.
    """
    names = path_names(Catalog(tuple(exercises)))
    if not names and not any(entry.exercise.after for entry in exercises):
        return None
    by_name = {entry.name: entry for entry in known}
    problems = [problem for entry in exercises for problem in _after(entry, by_name)]
    problems += _sentences(names, known)
    if len(exercises) == 1 and not problems:
        return None
    building = sum(bool(entry.exercise.after) for entry in exercises)
    summary = f"{counted(len(names), 'path')}; {building} of {len(exercises)} exercises build on others"
    return CheckReport("paths", tuple(problems), "" if problems else summary)


def _after(entry: CourseExercise, known: Mapping[str, CourseExercise]) -> Iterator[Problem]:
    """The problems of the exercises on which one builds. A circle always has one that builds on a later exercise."""
    place = f"{entry.name}/exercise.py"
    for name in entry.exercise.after:
        other = known.get(name)
        if other is None:
            nearest = did_you_mean(name, known)
            yield Problem(place, f"after names {name!r}, which no course has" + (f": {nearest}" if nearest else ""))
        elif other.name == entry.name:
            yield Problem(place, "after names the exercise itself")
        elif entry.name in _needed(other, known):
            yield Problem(place, f"{entry.name} and {name} build on each other")
        elif (other.number, name) > (entry.number, entry.name) and not _both_need_a_newer_gpu(entry, other):
            yield Problem(place, f"after names {name}, which comes later in the course")


def _needed(entry: CourseExercise, known: Mapping[str, CourseExercise]) -> frozenset[str]:
    """All exercises on which one builds, directly or not."""
    found: set[str] = set()
    left = [entry]
    while left:
        new = [name for name in left.pop().exercise.after if name in known and name not in found]
        found.update(new)
        left += [known[name] for name in new]
    return frozenset(found)


def _both_need_a_newer_gpu(entry: CourseExercise, other: CourseExercise) -> bool:
    """Whether both are for people with such a GPU: the chapter about it may come after the other's."""
    return not simulable(entry.exercise.requires) and not simulable(other.exercise.requires)


def _sentences(names: Sequence[str], known: Sequence[CourseExercise]) -> Iterator[Problem]:
    catalog = Catalog(tuple(known))
    try:
        described = sentences(catalog)
    except UsageError as error:
        yield Problem(FILE, error.message)
        return
    yield from (Problem(FILE, f"[paths] has no sentence for {name!r}") for name in names if name not in described)
    unused = [name for name in described if name not in path_names(catalog)]
    yield from (Problem(FILE, f"no exercise belongs to the path {name!r}") for name in unused)
