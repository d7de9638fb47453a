"""Paths: parts of the course for one purpose, each in an order in which its exercises build on each other.

    Exercise(paths=("memory",), after=…) ──path_in(catalog, "memory")──▶ CoursePath
    course.toml: [paths] memory = "…" ─────────────sentences(catalog)──▶ what each path is for

A course adds exercises to another course's path by naming it, or defines a path of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from grader.catalog.courses import ALL_PATHS, CourseExercise
from grader.catalog.exercises import Catalog
from grader.catalog.versions import FILE, bad_course, document_at
from grader.errors import UsageError
from grader.frozen import dataclass


@dataclass(frozen=True)
class CoursePath:
    """A path with its exercises, in the order in which one does them."""

    name: str
    exercises: tuple[CourseExercise, ...]


def path_names(catalog: Catalog) -> list[str]:
    """The names of all paths, in the order of their first exercises."""
    return list(dict.fromkeys(name for entry in catalog.exercises for name in entry.exercise.paths))


def path_in(catalog: Catalog, name: str) -> CoursePath | None:
    """The path of that name; None if no exercise belongs to it."""
    members = [entry for entry in catalog.exercises if name in entry.exercise.paths]
    return CoursePath(name, in_order(members)) if members else None


def find_path(catalog: Catalog, text: str) -> CoursePath:
    """The path of that name. Raises UsageError with the nearest name, or with all names."""
    name = text.strip()
    if path := path_in(catalog, name) or path_in(catalog, name.casefold()):
        return path
    from grader.expressions import did_you_mean

    names = path_names(catalog)
    hint = did_you_mean(name, names) or f"the paths are {', '.join(names)}" if names else "the course has no paths"
    raise UsageError(f"there is no path {name!r}", code="unknown_path", hint=hint)


def in_order(entries: Iterable[CourseExercise]) -> tuple[CourseExercise, ...]:
    """The exercises in the given order, but each after those that it builds on (`Exercise.after`)."""
    members = {entry.name: entry for entry in entries}
    ordered: dict[str, CourseExercise] = {}

    def place(entry: CourseExercise, above: frozenset[str]) -> None:
        for name in entry.exercise.after:
            if name in members and name not in ordered and name not in above:  # above: a circle
                place(members[name], above | {name})
        ordered[entry.name] = entry

    for entry in members.values():
        if entry.name not in ordered:
            place(entry, frozenset({entry.name}))
    return tuple(ordered.values())


def sentences(catalog: Catalog) -> dict[str, str]:
    """What each path is for, by its name, from the ``course.toml`` of the courses. Raises UsageError for a bad one."""
    folders = dict.fromkeys(entry.course.exercises for entry in catalog.exercises)
    return {name: sentence for folder in folders for name, sentence in _sentences_at(folder).items()}


def _sentences_at(exercises: Path) -> dict[str, str]:
    paths, file = document_at(exercises).get("paths", {}), exercises / FILE
    if not isinstance(paths, dict) or not all(isinstance(sentence, str) for sentence in paths.values()):
        hint = 'as in  memory = "how a kernel gets the bandwidth of memory"'
        raise UsageError(f"{file}: [paths] must have a sentence for each path", code="bad_course", hint=hint)
    if ALL_PATHS in paths:
        raise bad_course(file, f"no path can be called {ALL_PATHS!r}")
    return paths
