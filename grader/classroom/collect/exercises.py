"""Which exercise of the assignment a file is, by its name: `vector_add.cu`, `Vector-Add (1).cu`, `vectoradd-2.cu`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import product

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import Catalog
from grader.catalog.variants import entry_with, forms
from grader.classroom.collect.entries import without_suffix
from grader.classroom.records import Assignment
from grader.expressions import did_you_mean
from grader.frozen import dataclass

HOST = "_host"
NO_EXERCISE = "it is not named after an exercise of this assignment (--name FILE=EXERCISE says which it is)"
# What browsers, file managers and LMSs add to the name of a second file: "x (1)", "x-1", "x - Copy", "x copy 2".
_COPY = re.compile(r"(?: ?\((?P<a>\d{1,4})\)|-(?P<b>\d{1,4})|(?: -)?[ _]copy(?: (?P<c>\d{1,4}))?)$", re.IGNORECASE)


@dataclass(frozen=True)
class Named:
    """What a file's name says. ``is_sure`` is False if only its folder says it, or there is but one exercise."""

    exercise: str
    is_host: bool = False
    copy: int = 0
    is_sure: bool = True


@dataclass(frozen=True)
class Assigned:
    """The exercises of the assignment, and those of the course, for messages. ``names`` are further names of files."""

    assignment: Assignment
    catalog: Catalog
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.assignment.name

    @cached_property
    def exercises(self) -> dict[str, CourseExercise]:
        by_name = {entry.name: entry for entry in self.catalog.exercises}
        return {each.name: by_name[each.name] for each in self.assignment.exercises}

    def named(self, inside: Sequence[str]) -> Named | str:
        """What the path below a student's folder is; a text says why it is nothing."""
        stem, _, suffix = inside[-1].rpartition(".")
        is_python = suffix.lower() == "py"
        readings = copies(stem)
        if is_python:
            readings = [(name[: -len(HOST)], copy) for name, copy in readings if name.lower().endswith(HOST)]
        if not readings:
            return "a .py file is of interest only as NAME_host.py, beside NAME.cu"
        for name, copy in readings:
            if exercise := self._exactly(name):
                return self._of(exercise, is_python, copy)
        plain, copy = readings[-1]
        squashed = [name for name in self.exercises if _squashed(name) == _squashed(plain)]
        if len(squashed) == 1:
            return self._of(squashed[0], is_python, copy)
        if any(entry.name == plain for entry in self.catalog.exercises):
            return f"{plain} is no exercise of this assignment"
        folders = [found for part in inside[:-1] if (found := self._exactly(without_suffix(part)))]
        only = list(self.exercises) if len(self.exercises) == 1 else []
        if (folders or only) and not is_python:
            return Named((folders[-1:] or only)[0], copy=copy, is_sure=False)
        near = did_you_mean(plain, self.exercises)
        return f"{NO_EXERCISE}; {near}" if near else NO_EXERCISE

    def _of(self, exercise: str, is_host: bool, copy: int) -> Named | str:
        if is_host and self.exercises[exercise].host_file is None:
            return f"{exercise} has no host file"
        return Named(exercise, is_host, copy)

    def _exactly(self, name: str) -> str:
        if given := self.names.get(name.strip().casefold()):
            return given
        wanted = re.sub(r"[- ]", "_", name.strip()).casefold()
        return next((exercise for exercise in self.exercises if exercise.casefold() == wanted), "")

    def split(self, file: str) -> list[tuple[str, str]]:
        """The readings of ``ada_vector_add.cu`` as a student and a file, that with the longest exercise first."""
        stem, _, suffix = file.rpartition(".")
        found: list[tuple[str, str]] = []
        readings = copies(stem)[::-1]
        if any(self._exactly(plain) for plain, _ in readings):
            return found
        for (plain, copy), name in product(readings, sorted(self.exercises, key=len, reverse=True)):
            host = HOST if suffix.lower() == "py" and plain.lower().endswith(HOST) else ""
            bare = plain[: len(plain) - len(host)]
            written = "[_ -]?".join(map(re.escape, name.split("_")))
            for pattern in (rf"(?P<who>.+?)[_\-. ]+{written}", rf"{written}[_\-. ]+(?P<who>.+)"):
                if match := re.fullmatch(pattern, bare, re.IGNORECASE):
                    found.append((match["who"], f"{name}{host}{f' ({copy})' if copy else ''}.{suffix}"))
        return found

    def stubs(self, exercise: str) -> dict[str, bytes]:
        """The handout's files of an exercise."""
        return _files(self.exercises[exercise])

    def is_handout(self, exercise: str, contents: Mapping[str, bytes]) -> bool:
        """Whether nothing was written into the stubs, in any form of the exercise."""
        entry = self.exercises[exercise]
        given = [entry_with(entry, form) for form in forms(entry.exercise)] if entry.exercise.variants else [entry]
        mine = {path.rpartition("/")[2]: _lines(content) for path, content in contents.items()}
        return any(mine == {name: _lines(content) for name, content in _files(one).items()} for one in given)

    def without_title(self, name: str) -> str:
        """``week4-ada`` and ``ada_week4`` are ``ada``: the assignment's name around a student's."""
        title = re.escape(self.name)
        match = re.fullmatch(rf"{title}[-_ ]+(.+)|(.+?)[-_ ]+{title}", name, re.IGNORECASE)
        return (match[1] or match[2]) if match else name


def _files(entry: CourseExercise) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (entry.stub, entry.host_file) if path is not None}


def _lines(content: bytes) -> list[bytes]:
    return [line.rstrip() for line in content.splitlines()]


def copies(stem: str) -> list[tuple[str, int]]:
    """The readings of a name: as it is, and without what marks a copy, with the number: ``x (2)`` is also ``x``, 2."""
    readings = [(stem, 0)]
    while (match := _COPY.search(readings[-1][0])) and match.start():
        number = int(match["a"] or match["b"] or match["c"] or 1)
        readings.append((stem[: match.start()], readings[-1][1] + number))
    return readings


def _squashed(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()
