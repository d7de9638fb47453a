"""What a person has graded, passed and looked up, kept between commands.

Every method answers, whatever is wrong with the file: a trouble is told in one line, and the answer is that of an empty
history. Nothing of a submission is kept but its SHA-256.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from grader.paths import data_folder

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

FILE = "progress.sqlite3"
BUILT_IN = ""  # the course of the exercises that come with warpgrade; others are named by their folder
NOT_COUNTED = frozenset({"unsupported", "error"})  # verdicts that say nothing about the submission


@dataclass(frozen=True)
class Run:
    """One graded submission."""

    at: str  # UTC, "2026-11-21T17:05:30Z"
    course: str  # BUILT_IN, or the folder of its exercises
    exercise: str
    verdict: str
    score: int
    max_score: int
    backend: str  # "sim" | "gpu" | "sim+gpu"
    median_s: float | None = None
    fraction_of_peak: float | None = None
    gpu: str | None = None
    file_sha256: str | None = None

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def counts(self) -> bool:
        """Whether it says anything about the submission."""
        return self.verdict not in NOT_COUNTED


COLUMNS = tuple(field.name for field in fields(Run))
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM runs"
_INSERT = f"INSERT INTO runs ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_INSERT_HINT = "INSERT INTO hints (at, course, exercise, number) VALUES (?, ?, ?, ?)"


_NO_RUNS: tuple[Run, ...] = ()


def _silent(message: str) -> None:
    pass


@dataclass(frozen=True)
class Progress:
    """The history in one file; ``tell`` gets what a person should know about the file itself."""

    path: Path
    tell: Callable[[str], None] = _silent

    def record(self, run: Run) -> bool:
        """Add one run; return whether that succeeded."""
        return self._write("this run is not in your progress", lambda db: db.execute(_INSERT, astuple(run)))

    def runs(self) -> tuple[Run, ...]:
        """All runs, oldest first."""
        return self._read(_NO_RUNS, lambda db: _runs(db, f"{_SELECT} ORDER BY id"))

    def last(self) -> Run | None:
        """The newest run."""
        return self._read(None, lambda db: _one_run(db, f"{_SELECT} ORDER BY id DESC LIMIT 1"))

    def passed(self) -> frozenset[tuple[str, str]]:
        """Course and name of every exercise that was passed once."""
        query = "SELECT DISTINCT course, exercise FROM runs WHERE verdict = 'pass'"
        return self._read(frozenset(), lambda db: frozenset((course, name) for course, name in db.execute(query)))

    def passes(self) -> tuple[Run, ...]:
        """The newest pass of each exercise, oldest first."""
        query = f"{_SELECT} WHERE id IN (SELECT MAX(id) FROM runs WHERE verdict = 'pass' GROUP BY course, exercise)"
        return self._read(_NO_RUNS, lambda db: _runs(db, f"{query} ORDER BY id"))

    def hints_seen(self) -> dict[tuple[str, str], int]:
        """How many hints were shown, by course and name."""
        query = "SELECT course, exercise, MAX(number) FROM hints GROUP BY course, exercise"
        return self._read({}, lambda db: {(course, name): seen for course, name, seen in db.execute(query)})

    def saw_hint(self, course: str, exercise: str, number: int) -> bool:
        """Remember that hint ``number`` was shown; return whether that succeeded."""
        row = (now(), course, exercise, number)
        return self._write("that you saw this hint is not remembered", lambda db: db.execute(_INSERT_HINT, row))

    def _read(self, empty: T, work: Callable[[sqlite3.Connection], T]) -> T:
        """``work`` on the database; ``empty`` where there is none yet, without importing sqlite3."""
        from grader.practice.database import Unavailable, using

        try:
            return using(self.path, work, write=False, tell=self.tell) if self.path.exists() else empty
        except (Unavailable, OSError) as error:
            self.tell(f"your progress cannot be read: {error}")
        return empty

    def _write(self, lost: str, work: Callable[[sqlite3.Connection], object]) -> bool:
        from grader.practice.database import Unavailable, using

        try:
            using(self.path, work, write=True, tell=self.tell)
        except Unavailable as error:
            self.tell(f"{lost}: {error}")
            return False
        return True


def own_progress(tell: Callable[[str], None]) -> Progress:
    """The progress of the person at the keyboard."""
    return Progress(data_folder(FILE), tell)


def now() -> str:
    """This moment as it is kept: UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def local_day(at: str) -> str:
    """The day of a kept moment where the person is, ``2026-11-21``."""
    return datetime.strptime(at, "%Y-%m-%dT%H:%M:%S%z").astimezone().date().isoformat()


def _runs(db: sqlite3.Connection, query: str) -> tuple[Run, ...]:
    return tuple(Run(*row) for row in db.execute(query))


def _one_run(db: sqlite3.Connection, query: str) -> Run | None:
    row = db.execute(query).fetchone()
    return None if row is None else Run(*row)
