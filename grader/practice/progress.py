"""The user's runs, hints and question cards, stored in one SQLite file.

No method of `Progress` fails because of the file: an error is reported in one line, and the result is that of an empty
history. Of a submission, only its SHA-256 is stored.

Many processes write the file. Its contents are never deleted: a damaged file is renamed, a file of a newer version is
not changed. ``sqlite3`` is imported in functions, so that commands without the database start fast.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from grader.frozen import dataclass

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

FILE = "progress.sqlite3"
Key = tuple[str, str, int]  # an exercise: its course, its name, and the version of the course
BUILT_IN = ""  # the key of the built-in course; other courses have their folder as the key
NOT_COUNTED = frozenset({"unsupported", "error"})  # verdicts that are not about the submission


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
    course_version: int = 1

    @property
    def key(self) -> Key:
        return self.course, self.exercise, self.course_version

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def counts(self) -> bool:
        """Whether its verdict is about the submission."""
        return self.verdict not in NOT_COUNTED


@dataclass(frozen=True)
class Predicted:
    """A counter that the user predicted, and what was counted."""

    at: str
    course: str
    exercise: str
    course_version: int
    counter: str
    per: str  # an expression over the sizes, or ""
    predicted: float
    counted: float
    was_right: bool

    @property
    def key(self) -> Key:
        return self.course, self.exercise, self.course_version


COLUMNS = tuple(field.name for field in fields(Run))
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM runs"
_INSERT = f"INSERT INTO runs ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_PREDICTED = tuple(field.name for field in fields(Predicted))
_INSERT_PREDICTED = f"INSERT INTO predictions ({', '.join(_PREDICTED)}) VALUES ({', '.join('?' * len(_PREDICTED))})"
_INSERT_HINT = "INSERT INTO hints (at, course, exercise, course_version, number) VALUES (?, ?, ?, ?, ?)"
_INSERT_INTERVIEW = "INSERT INTO interviews (at, course, exercise, course_version, variant) VALUES (?, ?, ?, ?, ?)"
_INSERT_CARD = (
    "INSERT OR REPLACE INTO cards (at, course, exercise, course_version, question, card) VALUES (?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True)
class Progress:
    """The history in one file; ``tell`` is called with messages about the file itself."""

    path: Path
    tell: Callable[[str], None]

    def record(self, run: Run, predictions: Sequence[Predicted] = ()) -> bool:
        """Add one run and the predictions of its counters; return whether that succeeded."""

        def insert(db: sqlite3.Connection) -> None:
            db.execute(_INSERT, astuple(run))
            for prediction in predictions:
                db.execute(_INSERT_PREDICTED, astuple(prediction))

        return self._write("this run is not in your progress", insert)

    def predictions(self) -> tuple[Predicted, ...]:
        """All predictions that could be compared, oldest first."""
        query = f"SELECT {', '.join(_PREDICTED)} FROM predictions ORDER BY id"
        none: tuple[Predicted, ...] = ()
        rows = self._read(none, lambda db: tuple(Predicted(*row) for row in db.execute(query)))
        return tuple(replace(row, was_right=bool(row.was_right)) for row in rows)

    def runs(self) -> tuple[Run, ...]:
        """All runs, oldest first."""
        return self._select("ORDER BY id")

    def last(self) -> Run | None:
        """The newest run."""
        return next(iter(self._select("ORDER BY id DESC LIMIT 1")), None)

    def passes(self) -> tuple[Run, ...]:
        """The newest pass of each exercise in each version of its course, oldest first."""
        newest = "SELECT MAX(id) FROM runs WHERE verdict = 'pass' GROUP BY course, exercise, course_version"
        return self._select(f"WHERE id IN ({newest}) ORDER BY id")

    def passed(self) -> frozenset[Key]:
        """Every exercise that was passed once, of any version."""
        return frozenset(run.key for run in self.passes())

    def graded(self, file_sha256: str) -> frozenset[Key]:
        """Every exercise for which a file with this content was graded."""
        return frozenset(run.key for run in self._select("WHERE file_sha256 = ?", file_sha256))

    def hints_seen(self) -> dict[Key, int]:
        """How many hints were shown of each exercise."""
        columns = "course, exercise, course_version"
        query = f"SELECT {columns}, MAX(number) FROM hints GROUP BY {columns}"
        return self._read(
            {}, lambda db: {(course, name, version): seen for course, name, version, seen in db.execute(query)}
        )

    def saw_hint(self, key: Key, number: int) -> bool:
        """Remember that hint ``number`` was shown; return whether that succeeded."""
        row = (now(), *key, number)
        return self._write("that you saw this hint is not remembered", lambda db: db.execute(_INSERT_HINT, row))

    def hints_since(self, at: str) -> dict[Key, int]:
        """How many hints were shown of each exercise since a time, repeated ones included."""
        columns = "course, exercise, course_version"
        query = f"SELECT {columns}, COUNT(*) FROM hints WHERE at >= ? GROUP BY {columns}"
        return self._read(
            {}, lambda db: {(course, name, version): shown for course, name, version, shown in db.execute(query, (at,))}
        )

    def interviews(self) -> dict[tuple[Key, str], str]:
        """The last time at which each exercise, or variant of it ("": itself), was passed in an interview."""
        columns = "course, exercise, course_version, variant"
        query = f"SELECT {columns}, MAX(at) FROM interviews GROUP BY {columns}"
        return self._read(
            {},
            lambda db: {((course, name, version), form): at for course, name, version, form, at in db.execute(query)},
        )

    def passed_in_interview(self, key: Key, variant: str) -> bool:
        """Remember that an exercise was passed in an interview; return whether that succeeded."""
        row = (now(), *key, variant)
        return self._write(
            "that you passed this interview is not remembered", lambda db: db.execute(_INSERT_INTERVIEW, row)
        )

    def cards(self) -> dict[tuple[Key, str], str]:
        """The card of each question that was asked, by its exercise and its text: when it comes back, as JSON."""
        query = "SELECT course, exercise, course_version, question, card FROM cards"
        return self._read(
            {},
            lambda db: {
                ((course, name, version), text): card for course, name, version, text, card in db.execute(query)
            },
        )

    def keep_card(self, key: Key, question: str, card: str) -> bool:
        """Store the card of a question instead of its former one; return whether that succeeded."""
        row = (now(), *key, question, card)
        return self._write("this answer is not in your progress", lambda db: db.execute(_INSERT_CARD, row))

    def _select(self, rest: str, *values: str) -> tuple[Run, ...]:
        none: tuple[Run, ...] = ()
        return self._read(none, lambda db: tuple(Run(*row) for row in db.execute(f"{_SELECT} {rest}", values)))

    def _read(self, empty: T, work: Callable[[sqlite3.Connection], T]) -> T:
        """The result of ``work`` on the database; ``empty`` if there is none yet, without importing sqlite3."""
        try:
            return using(self.path, work, write=False, tell=self.tell) if self.path.exists() else empty
        except (Unavailable, OSError) as error:
            self.tell(f"your progress cannot be read: {error}")
        return empty

    def _write(self, lost: str, work: Callable[[sqlite3.Connection], object]) -> bool:
        try:
            using(self.path, work, write=True, tell=self.tell)
        except Unavailable as error:
            self.tell(f"{lost}: {error}")
            return False
        return True


def now() -> str:
    """The current time in the database's format: UTC, to the second."""
    return stored(datetime.now(UTC))


def stored(time: datetime) -> str:
    """A time in the database's format."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def local_day(at: str) -> str:
    """The day of such a time in the local time zone, ``2026-11-21``."""
    return datetime.strptime(at, "%Y-%m-%dT%H:%M:%S%z").astimezone().date().isoformat()


# ------------------------------------------------------------------------------------------------------------- the file

BUSY_MS = 2000  # how long to wait for another process; a write takes about 10 ms
MOST_SET_ASIDE = 100

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            id INTEGER PRIMARY KEY, at TEXT NOT NULL, course TEXT NOT NULL, exercise TEXT NOT NULL,
            verdict TEXT NOT NULL, score INTEGER NOT NULL, max_score INTEGER NOT NULL, backend TEXT NOT NULL,
            median_s REAL, fraction_of_peak REAL, gpu TEXT, file_sha256 TEXT)""",
        "CREATE INDEX runs_by_exercise ON runs (course, exercise, verdict)",
        """CREATE TABLE hints (
            id INTEGER PRIMARY KEY, at TEXT NOT NULL, course TEXT NOT NULL, exercise TEXT NOT NULL,
            number INTEGER NOT NULL)""",
        "CREATE INDEX hints_by_exercise ON hints (course, exercise, number)",
    ),
    (  # what was stored before courses had versions is of version 1
        "ALTER TABLE runs ADD COLUMN course_version INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE hints ADD COLUMN course_version INTEGER NOT NULL DEFAULT 1",
    ),
    (
        """CREATE TABLE predictions (
            id INTEGER PRIMARY KEY, at TEXT NOT NULL, course TEXT NOT NULL, exercise TEXT NOT NULL,
            course_version INTEGER NOT NULL, counter TEXT NOT NULL, per TEXT NOT NULL, predicted REAL NOT NULL,
            counted REAL NOT NULL, was_right INTEGER NOT NULL)""",
    ),
    (
        """CREATE TABLE cards (
            at TEXT NOT NULL, course TEXT NOT NULL, exercise TEXT NOT NULL, course_version INTEGER NOT NULL,
            question TEXT NOT NULL, card TEXT NOT NULL, PRIMARY KEY (course, exercise, course_version, question))""",
    ),
    (
        """CREATE TABLE interviews (
            id INTEGER PRIMARY KEY, at TEXT NOT NULL, course TEXT NOT NULL, exercise TEXT NOT NULL,
            course_version INTEGER NOT NULL, variant TEXT NOT NULL)""",
    ),
)
"""Step n changes a database of version n to version n + 1 (SQLite's ``user_version``). Never change existing steps."""


class Unavailable(Exception):
    """Raised when the database cannot be read or written now; its message is the reason."""


class _Damaged(Exception):
    """Raised when the file is not a valid progress database."""


def using(path: Path, work: Callable[[sqlite3.Connection], T], *, write: bool, tell: Callable[[str], None]) -> T:
    """Return ``work(connection)``, run as one transaction.

    A damaged file is renamed, reported to ``tell``, and replaced by a new one.

    Raises Unavailable for every other error of the file.
    """

    def identity() -> tuple[int, int] | None:
        with suppress(OSError):
            status = path.stat()
            return status.st_dev, status.st_ino
        return None

    before = identity()
    try:
        return _once(path, work, write=write)
    except _Damaged as damage:
        if identity() == before:  # else another process has just set it aside
            aside = _set_aside(path)
            tell(f"{path} is damaged ({damage}): it is kept as {aside.name}, and a new one is created")
    try:
        return _once(path, work, write=write)
    except _Damaged as damage:
        raise Unavailable(str(damage)) from None


def _once(path: Path, work: Callable[[sqlite3.Connection], T], *, write: bool) -> T:
    try:
        import sqlite3
    except ImportError:  # Python can be built without it
        raise Unavailable("this Python was built without sqlite3") from None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _opened(path, write=write) as connection, _transaction(connection, write=write):
            result = work(connection)
        if write:
            _flush(path)
        return result
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror}") from None
    except sqlite3.Error as error:
        # The file is damaged if it is not a database, a corrupt one, or one with other tables.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        damaged = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT)
        tables = ("no such table", "no such column", "no column", "already exists")
        if damaged or (code == sqlite3.SQLITE_ERROR and any(words in str(error) for words in tables)):
            raise _Damaged(str(error)) from None
        raise Unavailable(f"{path}: {error}") from None


@contextmanager
def _opened(path: Path, *, write: bool) -> Iterator[sqlite3.Connection]:
    """A connection to the file, which is created if it does not exist, with the current tables.

    A rollback journal, not a write-ahead log: home folders on network drives are common, and the log needs memory that
    all processes share. The journal survives a process that is killed during a write. SQLite would wait for the disk
    four times in each write; `_flush` waits once instead. An older file that may only be read is copied into memory,
    and the copy gets the current tables.
    """
    import sqlite3

    connection = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = PERSIST")
        if _version(connection) != len(MIGRATIONS):
            try:
                _bring_up_to_date(connection)
            except sqlite3.OperationalError as error:
                if write or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:
                    raise
                file, connection = connection, sqlite3.connect(":memory:", isolation_level=None)
                with closing(file):
                    file.backup(connection)
                _bring_up_to_date(connection)
        yield connection
    finally:
        connection.close()


def _flush(path: Path) -> None:
    """Wait until the file is on the disk. Call it after the connection is closed: it would drop the locks."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _transaction(connection: sqlite3.Connection, *, write: bool) -> Iterator[None]:
    """One transaction; for writing it takes its lock at the start, when it can wait for another process."""
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Run the missing migrations in one transaction; of two processes that start together, one finds them done.

    The whole file changes: only here SQLite waits for the disk by itself, so that a power failure cannot damage it.
    """
    connection.execute("PRAGMA synchronous = FULL")
    with _transaction(connection, write=True):
        version = _version(connection)
        if version > len(MIGRATIONS):
            raise Unavailable(f"a newer warpgrade wrote it (version {version}; this one knows {len(MIGRATIONS)})")
        for step in MIGRATIONS[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    connection.execute("PRAGMA synchronous = OFF")


def _set_aside(path: Path) -> Path:
    """Rename the damaged file and its journal, which SQLite would otherwise apply to the new file."""
    for number in range(1, MOST_SET_ASIDE):
        aside = path.with_name(f"{path.name}.damaged-{number}")
        if not aside.exists():
            break
    journal = path.with_name(f"{path.name}-journal")
    try:
        if journal.exists():
            journal.rename(aside.with_name(f"{aside.name}-journal"))
        path.rename(aside)
    except OSError as error:
        raise Unavailable(f"{path} is damaged and cannot be renamed: {error.strerror}") from None
    return aside
