"""`grade dev move OLD NEW`: rename a step in a new version of its course, and remember what older files look like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from grader.catalog.courses import Course, CourseExercise, exercise_files
from grader.catalog.versions import (
    FILE,
    CourseVersions,
    Move,
    OldFile,
    hashed_lines,
    versions_at,
    write_versions,
)
from grader.dev.new import check_name, writing
from grader.dev.report import Problem
from grader.errors import UsageError


def move_step(
    entry: CourseExercise, to: str | None, version: int, existing: Sequence[CourseExercise]
) -> tuple[Path, ...]:
    """Write the move into ``course.toml`` and rename the step's files; returns what was written.

    ``version`` is the one that the course gets, or already has, by this move; without ``to`` the step goes, and its
    files stay for their author to delete. Raises UsageError.
    """
    versions = versions_at(entry.course.exercises)
    if version < 2 or version not in (versions.version, versions.version + 1):
        now = f"the course is of version {versions.version}"
        raise UsageError(f"{now}: --version must be {versions.version + 1}" + _or_current(versions), code="bad_version")
    if to is not None:
        check_name(to, existing)
    moved = with_move(versions, entry, to, version)
    with writing(entry.course.exercises / FILE):
        written = write_versions(entry.course.exercises, moved)
    return (written, *(_renamed(entry, to) if to is not None else ()))


def _or_current(versions: CourseVersions) -> str:
    return f", or {versions.version} for a further move of that version" if versions.version > 1 else ""


def with_move(versions: CourseVersions, entry: CourseExercise, to: str | None, version: int) -> CourseVersions:
    """The versions with one more move; a step that this version has moved already goes on from its oldest name."""
    name, others = entry.name, list(versions.moves)
    earlier = next((move for move in others if (move.version, move.to) == (version - 1, name)), None)
    if earlier is not None:
        others.remove(earlier)
        others += [replace(earlier, to=to)] if to != earlier.name else []
    elif versions.move(name, version - 1) is None:  # else this step is new in this version
        others.append(Move(version - 1, name, to, dict(_files_of(entry))))
    return CourseVersions(version, tuple(others))


def _files_of(entry: CourseExercise) -> Iterator[tuple[str, OldFile]]:
    pairs = ((".cu", entry.stub, entry.solution), (".py", entry.host_file, entry.solution_host_file))
    for suffix, stub, solution in pairs:
        if stub is not None and stub.is_file():
            given = hashed_lines(stub.read_bytes())
            solved = hashed_lines(solution.read_bytes()) if solution is not None else frozenset()
            yield suffix, OldFile(given, solved - given)


# ------------------------------------------------------------------------------------------------------------ the files


def _renamed(entry: CourseExercise, to: str) -> Iterator[Path]:
    """Rename the exercise's folder and files, and write its new name into their texts; yields their paths."""
    folder = entry.folder.with_name(to)
    outside = [path for path in (entry.solution, entry.solution_host_file) if path is not None]
    with writing(folder):
        entry.folder.rename(folder)
    inside = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    name = re.compile(rf"\b{entry.name}(?=(_host)?\b)".encode())
    for path in (*inside, *outside):
        target = path.with_name(re.sub(rf"^{entry.name}(?=(_host)?\.)", to, path.name))
        with writing(target):
            target.write_bytes(name.sub(to.encode(), path.read_bytes()))
            if target != path:
                path.unlink()
        yield target
    quoted = f'"{entry.name}"'.encode()  # what other exercises build on
    for path in exercise_files(entry.course.exercises):
        if quoted in (content := path.read_bytes()):
            with writing(path):
                path.write_bytes(content.replace(quoted, f'"{to}"'.encode()))
            yield path


# ---------------------------------------------------------------------------------------------------- `grade dev check`


def version_problems(course: Course) -> Iterator[Problem]:
    """Yield the problems of a ``course.toml``: it cannot be read, or a step has moved to a name that does not exist."""
    try:
        versions = versions_at(course.exercises)
    except UsageError as error:
        yield Problem(FILE, error.message)
        return
    if course.exercises.name == "exercises" and (course.exercises.parent / FILE).exists():
        yield Problem(FILE, f"its place is in {course.exercises}, beside the chapters")
    names = {path.parent.name for path in exercise_files(course.exercises)}
    for move in versions.moves:
        now = versions.now(move.name, move.version)
        if now is not None and now not in names:
            yield Problem(FILE, f"version {move.version}'s {move.name} is said to be {now}, which does not exist")
