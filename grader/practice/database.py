"""One SQLite file that many processes write and nobody looks after: opened, brought up to date, set aside if damaged.

`using` is the way in. ``sqlite3`` is imported in functions only: a command that needs no database does not pay for it.

Whatever happens to the file, nothing in it is lost: a damaged one is renamed, a newer one is left as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

BUSY_MS = 2000  # how long to wait for another process; a write takes some 10 ms
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
)
"""Step n takes a database of version n to version n + 1 (SQLite's ``user_version``). Steps are only ever added."""


class Unavailable(Exception):
    """Raised when the database cannot be read or written now; says why in words that follow a colon."""


class _Damaged(Exception):
    """Raised when the file is no database of ours."""


def using(path: Path, work: Callable[[sqlite3.Connection], T], *, write: bool, tell: Callable[[str], None]) -> T:
    """Return ``work(connection)``, done as one transaction. A damaged file is set aside, told of, and begun anew.

    Raises Unavailable for everything else that can go wrong with a file.
    """
    before = _identity(path)
    try:
        return _once(path, work, write=write)
    except _Damaged as damage:
        if _identity(path) == before:  # else another process has just set it aside
            kept = _set_aside(path)
            tell(f"{path} is damaged ({damage}): it is kept as {kept.name}, and a new one is begun")
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
        with _opened(path) as connection, _transaction(connection, write=write):
            answer = work(connection)
        if write:
            _flush(path)
        return answer
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror}") from None
    except sqlite3.Error as error:
        if _tells_of_damage(error):
            raise _Damaged(str(error)) from None
        raise Unavailable(f"{path}: {error}") from None


def _tells_of_damage(error: sqlite3.Error) -> bool:
    """Whether the file is at fault, and not its place: no database, a broken one, or one with other tables."""
    import sqlite3

    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_ERROR:
        return any(words in str(error) for words in ("no such table", "no such column", "no column", "already exists"))
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to the file, which is created where there is none, with the tables of today.

    A rollback journal, not a write-ahead log: home folders on network drives are common, and the log needs memory that
    all processes share. It survives a process that is killed in the middle. SQLite itself does not wait for the disk,
    four times in each write: `_flush` does, once.
    """
    import sqlite3

    connection = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = PERSIST")
        if _version(connection) != len(MIGRATIONS):
            _bring_up_to_date(connection)
        yield connection
    finally:
        connection.close()


def _flush(path: Path) -> None:
    """Wait until the disk has the file. Its connection is closed by now: closing the file here would drop its locks."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _transaction(connection: sqlite3.Connection, *, write: bool) -> Iterator[None]:
    """One transaction; a writing one takes its lock at the start, where waiting for another process is possible."""
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
    """Take the missing steps, in one transaction: of two processes that start together, one finds them done."""
    with _transaction(connection, write=True):
        version = _version(connection)
        if version > len(MIGRATIONS):
            raise Unavailable(f"a newer warpgrade wrote it (version {version}; this one knows {len(MIGRATIONS)})")
        for step in MIGRATIONS[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _set_aside(path: Path) -> Path:
    """Rename the damaged file, and its journal, which SQLite would else play into the new file."""
    for number in range(1, MOST_SET_ASIDE):
        kept = path.with_name(f"{path.name}.damaged-{number}")
        if not kept.exists():
            break
    journal = path.with_name(f"{path.name}-journal")
    try:
        if journal.exists():
            journal.rename(kept.with_name(f"{kept.name}-journal"))
        path.rename(kept)
    except OSError as error:
        raise Unavailable(f"{path} is damaged and cannot be renamed: {error.strerror}") from None
    return kept
