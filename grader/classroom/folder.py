"""A class folder: its files, what `grade class init` writes, and what is read from it for pages and exports.

assignment.toml  class.key  roster.csv  .gitignore     written by init, then the teacher's
submissions/  submissions.json                         collect/
results.sqlite                                         the run
similar.json                                           similar
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.classroom import assignment, key, roster, similar_store, submissions
from grader.classroom.records import Assignment, ClassRecord
from grader.errors import UsageError

RESULTS = "results.sqlite"
_RESERVED = re.compile(r"(con|nul|aux|prn|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # names of devices on Windows
GITIGNORE = """\
# The key is the secret of the hidden inputs. Submissions and results are personal data: think before you remove a line.
/class.key
/results.sqlite*
/submissions/
/submissions.json
/roster.csv*
/report/
/similar.json
/handout/
"""


def init_class(folder: Path, made: Assignment) -> Mapping[str, bool]:
    """Write the files of a new class; says for each whether it was written, or was there and is unchanged.

    Raises UsageError if results exist and their key does not: a new one would give other hidden inputs.
    """
    if (folder / RESULTS).exists() and not (folder / key.FILE).exists():
        key.read_key(folder)  # it says what to do
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return {
            assignment.FILE: _write_new(folder / assignment.FILE, assignment.assignment_text(made)),
            key.FILE: _write_new_key(folder / key.FILE),
            roster.FILE: _write_new(folder / roster.FILE, roster.TEMPLATE),
            ".gitignore": _write_new(folder / ".gitignore", GITIGNORE),
        }
    except OSError as error:
        message = f"cannot write {error.filename or folder}: {error.strerror}"
        raise UsageError(message, code="cannot_write") from None


def _write_new(path: Path, text: str) -> bool:
    """Write a file unless something is there."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _write_new_key(path: Path) -> bool:
    try:
        key.write_key(path, key.new_key())
    except FileExistsError:
        return False
    return True


def read_class(folder: Path, courses: Sequence[Path] = ()) -> ClassRecord:
    """All that is known of a class. Raises UsageError if one of its files is not valid."""
    return ClassRecord(
        assignment=assignment.read_assignment(folder, courses),
        roster=roster.read_roster(folder / roster.FILE).students,
        submissions=submissions.read_submissions(folder),
        similar=tuple(pair for one in similar_store.read_compared(folder) for pair in one.all_pairs),
    )


def new_roster(source: Path) -> roster.Roster:
    """A file that is to become the roster. Raises UsageError if it has no students."""
    read = roster.read_roster(source)
    if not read.students:
        raise UsageError(f"{source} has no students", code="bad_roster", hint="the first line names the columns")
    return read


def use_roster(folder: Path, source: Path) -> roster.Roster:
    """Make another file the roster of the class. One with students in it is kept as ``roster.csv.bak``."""
    own = folder / roster.FILE
    content = source.read_bytes()
    if not own.exists() or own.read_bytes() != content:
        if own.exists() and own.read_text(encoding="utf-8", errors="replace") != roster.TEMPLATE:
            own.replace(own.with_name(f"{own.name}.bak"))
        submissions.replace_file(own, content)
    return roster.read_roster(own)


def safe_name(student: str) -> str:
    """A folder's name for an id: the id itself where it is harmless, else with a hash, so that no two are the same."""
    plain = re.sub(r"[^a-z0-9._@+-]+", "_", student.casefold()).strip(".")[:80]
    if plain and plain == student and not _RESERVED.fullmatch(plain):
        return plain
    return f"{plain or 'student'}-{hashlib.sha256(student.encode()).hexdigest()[:8]}"
