"""A course's version, and the steps that older versions had under other names: the file ``course.toml``.

    version = 2

    [[moved]]
    version = 1           # the last version with the old name
    from = "reduce_v9"
    to = "reduce_v10"     # without it, the step is not in the course any more

It is beside the exercises; a course without it is of version 1. `grade dev move` writes it, with the lines of the old
stub, by which a file that was begun from it is recognised (`grader.practice.moved`). A step that is not named keeps its
name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from grader.errors import UsageError
from grader.frozen import dataclass

FILE = "course.toml"


@dataclass(frozen=True)
class OldFile:
    """The lines of a stub and of its solution, as hashes: a course does not keep its old stubs."""

    stub: frozenset[str]
    solution: frozenset[str] = frozenset()


LEAST_CHARACTERS = 8  # of a line that says something: "}", "else {" and "#endif" are in every file


def hashed_lines(content: bytes) -> frozenset[str]:
    """The hashes of a file's lines without their blanks, so that a new indentation does not change them."""
    lines = (b"".join(line.split()) for line in content.splitlines())
    return frozenset(f"{crc32(line):08x}" for line in lines if len(line) >= LEAST_CHARACTERS)


def in_version(name: str, version: int, now: str | None, newest: int) -> str:
    """``version 1's reduce_v9, which is reduce_v10 in version 2 of the course``; ``now`` is None if it is gone."""
    became = f"which is {now} in version {newest} of the course" if now else f"which version {newest} no longer has"
    return f"version {version}'s {name}, {became}"


@dataclass(frozen=True)
class Move:
    """What became of a step of one version in the next one."""

    version: int  # the last one with the old name
    name: str
    to: str | None  # None: it is not in the next version
    files: Mapping[str, OldFile] = field(default_factory=dict)  # by suffix: ".cu", and ".py" of a host exercise


@dataclass(frozen=True)
class CourseVersions:
    """The current version of a course, and the moves that led to it."""

    version: int = 1
    moves: tuple[Move, ...] = ()

    def now(self, name: str, version: int) -> str | None:
        """The current name of a step that an older version called ``name``; None if the course no longer has it."""
        for at in range(version, self.version):
            move = self.move(name, at)
            if move is not None:
                if move.to is None:
                    return None
                name = move.to
        return name

    def move(self, name: str, version: int) -> Move | None:
        """The move of this name from this version to the next one; None if the step kept its name."""
        return next((move for move in self.moves if (move.name, move.version) == (name, version)), None)

    def last_version(self, name: str) -> int | None:
        """The last version that had a step of this name which moved; None if there is none."""
        return max((move.version for move in self.moves if move.name == name), default=None)

    def former(self, name: str) -> tuple[tuple[str, int], ...]:
        """The names of a step in all versions, the current one first, each with its version."""
        names, found = {name}, [(name, self.version)]
        for version in range(self.version - 1, 0, -1):
            came = {move.name for move in self.moves if move.version == version and move.to in names}
            names = came | {kept for kept in names if self.move(kept, version) is None}
            found += [(old, version) for old in sorted(names)]
        return tuple(found)

    def gone(self) -> frozenset[tuple[str, int]]:
        """The steps that are no longer in the course, each with its version."""
        older = ((move.name, version) for move in self.moves for version in range(1, move.version + 1))
        return frozenset(step for step in older if self.now(*step) is None)


def document_at(exercises: Path) -> Mapping[str, Any]:
    """What the ``course.toml`` in this folder says; {} without one. Raises UsageError if it cannot be read."""
    path = exercises / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeError) as error:
        raise bad_course(path, error) from None
    from tomllib import TOMLDecodeError, loads

    try:
        return loads(text)
    except TOMLDecodeError as error:
        raise bad_course(path, error) from None


@cache
def versions_at(exercises: Path) -> CourseVersions:
    """The versions of the course whose exercises are in this folder. Raises UsageError for a ``course.toml`` that
    cannot be read or is not valid.
    """
    data = document_at(exercises)
    try:
        version = _version(data.get("version", 1))
        moves = tuple(_move(entry, version) for entry in data.get("moved", []))
        names = [(move.name, move.version) for move in moves]
        if len(set(names)) < len(names):
            raise ValueError("it names a step of one version twice")
        return CourseVersions(version, moves)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise bad_course(exercises / FILE, f"{error} is missing" if isinstance(error, KeyError) else error) from None


def bad_course(path: Path, why: object) -> UsageError:
    """The error for a ``course.toml`` with something wrong in it."""
    return UsageError(f"{path}: {why}", code="bad_course", hint="docs/design/027-course-versions.md says what it holds")


def _version(value: object) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(f"the version must be 1 or more, not {value!r}")
    return value


def _move(entry: Mapping[str, Any], newest: int) -> Move:
    version = _version(entry["version"])
    if version >= newest:
        raise ValueError(f"a step is said to have moved after version {version}, but that is not an older one")
    files = {
        suffix: OldFile(frozenset(entry[stub].split()), frozenset(entry.get(solution, "").split()))
        for suffix, (stub, solution) in LINES.items()
        if stub in entry
    }
    to = entry.get("to")
    return Move(version, str(entry["from"]), None if to is None else str(to), files)


LINES = {".cu": ("stub", "solution"), ".py": ("host_stub", "host_solution")}
"""The keys of a moved step's lines, by the suffix of the file."""


_SAYS_VERSION = r"^version *=.*$"
_MOVED = r"^\[\[moved\]\]\n(?:(?!\[).*\n?)*"  # up to the next table


def write_versions(exercises: Path, versions: CourseVersions) -> Path:
    """Write ``course.toml`` and return its path; all that is not a move stays, above the moves."""
    path = exercises / FILE
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    kept = "\n" + re.sub(_MOVED, "", before, flags=re.MULTILINE).strip("\n")
    top, bracket, tables = kept.partition("\n[")  # other tables are others' affair
    says = f"version = {versions.version}"
    top, found = re.subn(_SAYS_VERSION, says, top, count=1, flags=re.MULTILINE)
    head = (top + ("" if found else f"\n{says}") + bracket + tables).strip("\n")
    text = f"{head}\n" + "".join(f"\n[[moved]]\n{_text(move)}" for move in versions.moves)
    path.write_text(text, encoding="utf-8")
    versions_at.cache_clear()
    return path


def _text(move: Move) -> str:
    lines = [f"version = {move.version}", f'from = "{move.name}"']
    lines += [f'to = "{move.to}"'] if move.to is not None else []
    for suffix, keys in LINES.items():
        if suffix in move.files:
            old = move.files[suffix]
            lines += [
                f"{key} = '{' '.join(sorted(hashes))}'"
                for key, hashes in zip(keys, (old.stub, old.solution), strict=True)
            ]
    return "\n".join(lines) + "\n"
