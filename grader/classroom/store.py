"""`results.sqlite`: the results of a class, stored as they arrive, and what a teacher decided.

    with RunLock(folder), Store.open(folder) as store:      one run at a time; `status` and `override` need no lock
        store.begin(Basis(...))                             refuses to go on under another version
        store.add(result)                                   on the disk when it returns (synchronous=FULL)

    results     every result, older ones too; a submission's newest one counts. ``again``: it is to be graded again
    deaths      workers that a submission ended; ``settled`` by its next result
    overrides   a teacher's decisions, older ones too; points below 0: the decision was taken back
    meta        what the results were made with: versions, assignment

Nothing is ever deleted. A killed run or a full disk leaves whole rows. `sqlite3` is imported when a store is opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

from grader.classroom.records import Override, Result
from grader.errors import Unsupported, UsageError
from grader.frozen import dataclass
from grader.process.child import Closing

if TYPE_CHECKING:
    import sqlite3

FILE = "results.sqlite"
LOCK = "results.sqlite.lock"
TAKEN_BACK = -1.0  # as the points of an override, which are never below 0
SCHEMA_VERSION = 1
BUSY_S = 30.0  # how long a writer waits for another one: each holds the file for milliseconds
_SCHEMA = """
CREATE TABLE results (
    id INTEGER PRIMARY KEY, submission TEXT NOT NULL, verdict TEXT NOT NULL, points REAL, max_points REAL,
    run TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL, attempts INTEGER NOT NULL, worker TEXT NOT NULL,
    sandbox TEXT NOT NULL, machine TEXT NOT NULL, versions TEXT NOT NULL, again INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX results_of ON results (submission, id);
CREATE TABLE deaths (
    id INTEGER PRIMARY KEY, submission TEXT NOT NULL, at TEXT NOT NULL, worker TEXT NOT NULL, reason TEXT NOT NULL,
    settled INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE overrides (
    id INTEGER PRIMARY KEY, student TEXT NOT NULL, exercise TEXT NOT NULL, points REAL NOT NULL, reason TEXT NOT NULL,
    made TEXT NOT NULL
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
_COLUMNS = tuple(field.name for field in fields(Result))
_JSON = ("run", "machine", "versions")
_TIMES = ("started", "ended")
_CURRENT = "id IN (SELECT max(id) FROM results GROUP BY submission)"


@dataclass(frozen=True)
class Basis:
    """What all results of a class must have been made with, so that they can be compared."""

    warpgrade: str
    course: str  # its version, and a digest of the assigned exercises
    exercises: str
    backend: str
    inputs: str  # a digest of the secret that the hidden inputs are made from

    def differs(self, other: Basis) -> str:
        """``warpgrade 0.1 became 0.2``, for each difference; "" if there is none."""
        pairs = ((field.name, getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return ", ".join(f"{name} {old} became {new}" for name, old, new in pairs if old != new)


@dataclass(frozen=True)
class Death:
    """A worker that ended without a result while it graded a submission."""

    submission: str
    at: datetime
    worker: str
    reason: str


class Store(Closing):
    """The file's content. Raises UsageError for a damaged or a newer file, Unsupported if the disk is full."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self._path = path
        self._database = database

    @classmethod
    def open(cls, folder: Path, *, make: bool = True) -> Self:
        """The store of a class folder. Without ``make``, a missing file is an empty store that cannot be written."""
        import sqlite3

        path = folder / FILE
        exists = make or path.exists()
        with _clear_errors(path):
            database = sqlite3.connect(path if exists else ":memory:", timeout=BUSY_S, isolation_level=None)
            database.row_factory = sqlite3.Row
            database.execute("PRAGMA synchronous = FULL")
            _migrate(path, database)
        return cls(path, database)

    def close(self) -> None:
        self._database.close()

    # ------------------------------------------------------------------------------------------------------ results

    def results(self) -> tuple[Result, ...]:
        """The result of each submission that counts: its newest one."""
        return self._results(_CURRENT)

    def history(self, submission: str) -> tuple[Result, ...]:
        """All results of one submission, oldest first."""
        return self._results("submission = ?", submission)

    def graded(self) -> frozenset[str]:
        """The keys of submissions that need no grading."""
        rows = self._rows(f"SELECT submission FROM results WHERE {_CURRENT} AND NOT again")
        return frozenset(row["submission"] for row in rows)

    def add(self, result: Result) -> None:
        """Store a result; it is on the disk when this returns."""
        values = [_stored(name, getattr(result, name)) for name in _COLUMNS]
        with self._written() as database:
            places = ", ".join("?" * len(_COLUMNS))
            database.execute(f"INSERT INTO results ({', '.join(_COLUMNS)}) VALUES ({places})", values)
            database.execute("UPDATE deaths SET settled = 1 WHERE submission = ?", (result.submission,))

    # ------------------------------------------------------------------------------------------------ deaths, overrides

    def add_death(self, death: Death) -> int:
        """Store that a worker died; returns how many this submission has ended since its last result."""
        with self._written() as database:
            values = (death.submission, death.at.isoformat(), death.worker, death.reason)
            database.execute("INSERT INTO deaths (submission, at, worker, reason) VALUES (?, ?, ?, ?)", values)
        return len(self.deaths(death.submission))

    def deaths(self, submission: str) -> tuple[Death, ...]:
        """The deaths since the submission's last result, oldest first."""
        rows = self._rows("SELECT * FROM deaths WHERE submission = ? AND NOT settled ORDER BY id", submission)
        return tuple(
            Death(row["submission"], datetime.fromisoformat(row["at"]), row["worker"], row["reason"]) for row in rows
        )

    def take_back_override(self, student: str, exercise: str, reason: str, made: datetime) -> None:
        """The points of the grading count again; the decisions stay in the file."""
        self.add_override(Override(student, exercise, TAKEN_BACK, reason, made))

    def add_override(self, override: Override) -> None:
        values = (override.student, override.exercise, override.points, override.reason, override.made.isoformat())
        with self._written() as database:
            columns = "student, exercise, points, reason, made"
            database.execute(f"INSERT INTO overrides ({columns}) VALUES (?, ?, ?, ?, ?)", values)

    def overrides(self) -> tuple[Override, ...]:
        """The newest decision for each student and exercise, in the order in which they were made; none taken back."""
        newest = "id IN (SELECT max(id) FROM overrides GROUP BY student, exercise)"
        rows = self._rows(f"SELECT * FROM overrides WHERE {newest} AND points >= 0 ORDER BY id")
        return tuple(
            Override(row["student"], row["exercise"], row["points"], row["reason"], datetime.fromisoformat(row["made"]))
            for row in rows
        )

    # -------------------------------------------------------------------------------------------------------- versions

    def basis(self) -> Basis | None:
        """What the results were made with; None before the first run."""
        rows = self._rows("SELECT value FROM meta WHERE key = 'basis'")
        return Basis(**json.loads(rows[0]["value"])) if rows else None

    def begin(self, basis: Basis, *, mixed: bool = False, again: Collection[str] = ()) -> None:
        """Go on with this basis, and mark the results of ``again`` for a new grading; until it has ended they count.

        A killed run remembers the marks. Raises UsageError if other results are of another basis, unless ``mixed``.
        Each result says by itself which versions it was made with.
        """
        before = self.basis()
        if before is not None and before != basis and self.graded() - set(again) and not mixed:
            raise UsageError(
                f"{self._path} has results that cannot be compared with new ones: {before.differs(basis)}",
                code="other_version",
                hint="--again grades everything anew; --mixed goes on, and each result says which version it is of",
            )
        text = json.dumps({field.name: getattr(basis, field.name) for field in fields(basis)})
        with self._written() as database:
            rows = [(submission,) for submission in again]
            database.executemany(f"UPDATE results SET again = 1 WHERE submission = ? AND {_CURRENT}", rows)
            database.execute("INSERT OR REPLACE INTO meta VALUES ('basis', ?)", (text,))

    # ---------------------------------------------------------------------------------------------------------- SQLite

    def _rows(self, query: str, *values: object) -> Sequence[sqlite3.Row]:
        with _clear_errors(self._path):
            return self._database.execute(query, values).fetchall()

    def _results(self, where: str, *values: object) -> tuple[Result, ...]:
        rows = self._rows(f"SELECT {', '.join(_COLUMNS)} FROM results WHERE {where} ORDER BY id", *values)
        return tuple(Result(**{name: _read(name, row[name]) for name in _COLUMNS}) for row in rows)

    @contextmanager
    def _written(self) -> Iterator[sqlite3.Connection]:
        with _clear_errors(self._path), _transaction(self._database):
            yield self._database


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    """One transaction. IMMEDIATE: with a plain one, two writers that both have read would fail instead of waiting."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:  # a full disk has ended it already
            database.execute("ROLLBACK")
        raise


def _migrate(path: Path, database: sqlite3.Connection) -> None:
    """Make the tables of a new file; two processes may do it at once."""
    if (version := _version(database)) == 0:
        with _transaction(database):
            if _version(database) == 0:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    elif version > SCHEMA_VERSION:
        hint = "`pip install -U warpgrade` here, or use the machine that wrote it"
        raise UsageError(f"{path} was written by a newer warpgrade", code="newer_results", hint=hint)


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _stored(name: str, value: Any) -> Any:
    if name in _JSON:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value.isoformat() if name in _TIMES else value


def _read(name: str, value: Any) -> Any:
    if name in _JSON:
        return json.loads(value)
    return datetime.fromisoformat(value) if name in _TIMES else value


KEPT = "what is stored stays: free some space and start the run again, which grades only what is missing"


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """SQLite's errors in words."""
    import sqlite3

    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            what = "the disk is full" if code == sqlite3.SQLITE_FULL else f"the disk fails ({error})"
            raise Unsupported(f"{path} cannot be written: {what}", hint=KEPT) from None
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            hint = "restore it from a backup, or rename it: the run then begins anew"
            raise UsageError(f"{path} is damaged: {error}", code="bad_results", hint=hint) from None
        message = f"{path} cannot be used: {error}"
        raise UsageError(message, code="cannot_write", hint="is the folder yours, and writable?") from None


# ------------------------------------------------------------------------------------------------------------- the lock


class RunLock(Closing):
    """The right to run a class: one process at a time. The system returns it when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        """Raises UsageError, naming the process that has it."""
        import fcntl

        path = folder / LOCK
        try:
            self._file: TextIO = path.open("a+", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = _owner(self._file)
            self._file.close()
            hint = "wait for it, or end it with Ctrl-C or `kill`: a run can be continued at any time"
            raise UsageError(f"{folder} is being graded by {owner}", code="class_is_running", hint=hint) from None
        self._file.truncate(0)
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self._file.write(json.dumps({"pid": os.getpid(), "host": os.uname().nodename, "since": started}))
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _owner(file: TextIO) -> str:
    """``process 4711 on lab3, since …``."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        file.seek(0)
        owner: Mapping[str, Any] = json.load(file)
        return f"process {owner['pid']} on {owner['host']}, since {owner['since']}"
    return "another process"
