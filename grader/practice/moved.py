"""A file that was begun for an older version of the course, where a step of that name was another one.

`docs/design/027-course-versions.md` says how it is recognised, and why not by its name.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import Catalog
from grader.catalog.versions import CourseVersions, OldFile, hashed_lines, in_version, versions_at
from grader.errors import UsageError
from grader.frozen import dataclass
from grader.practice.history import HASHED_BYTES, keys_of, progress

LEAST_LINES = 3  # of the old stub alone; fewer only if all lines of the old stub are there
CLEARLY = 2  # so many times as many lines of the old stub as of the current one


@dataclass(frozen=True)
class OldStep:
    """The step for which a file was begun: its name in an older version, and its current one (None: it is gone)."""

    name: str
    version: int
    now: str | None
    newest: int  # the current version of the course

    @property
    def message(self) -> str:
        """``is version 1's reduce_v9, which is reduce_v10 in version 2 of the course``."""
        return f"is {in_version(self.name, self.version, self.now, self.newest)}"


def refuse_old(catalog: Catalog, entry: CourseExercise, *files: Path | None) -> None:
    """Raise UsageError, with what to type instead, if one of the files was begun for another step of the same name."""
    for path in files:
        old = old_step(catalog, entry, path) if path is not None else None
        if path is not None and old is not None:
            shown = f"./{path}" if path == Path(path.name) else path
            hint = _what_to_type(catalog, entry, path, old)
            raise UsageError(f"{shown} {old.message}", code="moved_exercise", hint=hint)


def old_here(catalog: Catalog, entry: CourseExercise) -> str:
    """What to say of the exercise's files in this folder if they were begun for another step; "" if not."""
    try:
        refuse_old(catalog, entry, *_files(entry.name, entry))
    except UsageError as error:
        return f"{error.message}: {error.hint}."
    return ""


def old_step(catalog: Catalog, entry: CourseExercise, path: Path) -> OldStep | None:
    """The other step for which this file was begun when an older version of the course had it under this name."""
    versions = versions_at(entry.course.exercises)
    moved = [version for version in range(1, versions.version) if versions.now(entry.name, version) != entry.name]
    stub = entry.stub if path.suffix != ".py" else entry.host_file
    content = _content(path)
    if not moved or content is None or content == _content(stub):
        return None
    version = _graded_in(entry, content, moved) or _begun_in(catalog, entry, path, versions, content, moved)
    return OldStep(entry.name, version, versions.now(entry.name, version), versions.version) if version else None


def _content(path: Path | None) -> bytes | None:
    with suppress(OSError):
        if path is not None and path.is_file() and path.stat().st_size <= HASHED_BYTES:
            return path.read_bytes()
    return None


def _graded_in(entry: CourseExercise, content: bytes, moved: Collection[int]) -> int | None:
    """The version in which exactly this file was graded under this name, unless it was also graded as this step."""
    graded, keys = progress().graded(sha256(content).hexdigest()), keys_of(entry)
    versions = {version for course, name, version in graded if (course, name) == keys[0][:2]}
    return max(versions.intersection(moved), default=None) if graded.isdisjoint(keys) else None


def _begun_in(
    catalog: Catalog,
    entry: CourseExercise,
    path: Path,
    versions: CourseVersions,
    content: bytes,
    moved: Collection[int],
) -> int | None:
    """The version whose stub of this name has clearly more of the file's lines than any current stub."""
    found = hashed_lines(content)
    steps = {step.name: step for step in catalog.ladder(entry)}
    for version in sorted(moved, reverse=True):
        move = versions.move(entry.name, version)
        old = move.files.get(path.suffix) if move is not None else None
        if move is None or old is None:
            continue
        target = versions.now(entry.name, version)
        others = {**steps, **{step.name: step for step in catalog.exercises if step.name == target}}
        current = {name: _current(step, path.suffix) for name, step in others.items()}
        if _is_begun_from(old, found, current.pop(entry.name), current.values()):
            return version
    return None


def _current(step: CourseExercise, suffix: str) -> OldFile:
    pair = (step.host_file, step.solution_host_file) if suffix == ".py" else (step.stub, step.solution)
    return OldFile(*(hashed_lines(_content(path) or b"") for path in pair))


def _is_begun_from(old: OldFile, found: frozenset[str], current: OldFile, others: Collection[OldFile]) -> bool:
    """Whether a file's lines are clearly the old stub's, and not those of the current stub or of another step's.

    A later step's stub often has the solution of the step before it: lines of a solution are evidence for neither.
    """
    of_old = len(found & (old.stub - current.stub - current.solution))
    of_current = len(found & (current.stub - old.stub - old.solution))
    enough = of_old >= LEAST_LINES or (of_old > 0 and old.stub <= found)
    return enough and of_old >= CLEARLY * of_current and all(_is_nearer(old, found, other) for other in others)


def _is_nearer(old: OldFile, found: frozenset[str], other: OldFile) -> bool:
    """Whether a file has more of the old stub than of another current one, from which it may be copied."""
    more = len(found & (old.stub - other.stub)) - len(found & (other.stub - old.stub))
    return more > 0 or old.stub == other.stub  # the step's stub of today may be what it was


# ------------------------------------------------------------------------------------------------------- what to type


def _what_to_type(catalog: Catalog, entry: CourseExercise, path: Path, old: OldStep) -> str:
    in_place = path in _files(entry.name, entry)
    if old.now is None:
        keep = f"`grade reset {entry.name}` keeps it as {path.name}.bak, and writes the current stub of {entry.name}"
        return keep if in_place else f"`grade show {entry.name}` explains the current {entry.name}"
    renames = _renames(catalog, entry, old) if in_place else None
    if renames is None:
        return f"`grade {old.now} --file {shlex.quote(str(path))}` grades it"
    command = " && ".join(f"mv {before} {after}" for before, after in renames)
    names = "the current names" if len({after.stem for _, after in renames}) > 1 else "its current name"
    return (
        f"`{command}` gives it {names}, and `grade {old.now}` grades it; then `grade start {entry.name}` copies the "
        f"current stub of {entry.name}"
    )


def _files(name: str, entry: CourseExercise) -> tuple[Path, ...]:
    return (Path(f"{name}.cu"), Path(f"{name}_host.py")) if entry.exercise.host else (Path(f"{name}.cu"),)


def _renames(
    catalog: Catalog, entry: CourseExercise, old: OldStep, before: tuple[str, ...] = ()
) -> list[tuple[Path, Path]] | None:
    """The renamings that give the files in this folder their current names, in an order that overwrites nothing.

    None if a current name is taken by a file that is not an older step's.
    """
    if old.now is None or old.now in before:
        return None
    first: list[tuple[Path, Path]] = []
    taken = next((path for path in _files(old.now, entry) if path.exists()), None)
    if taken is not None:
        step = next((step for step in catalog.exercises if step.name == old.now), None)
        older = old_step(catalog, step, taken) if step is not None else None
        further = _renames(catalog, step, older, (*before, entry.name)) if step is not None and older else None
        if further is None:
            return None
        first = further
    pairs = zip(_files(entry.name, entry), _files(old.now, entry), strict=True)
    return [*first, *((path, target) for path, target in pairs if path.exists())]
