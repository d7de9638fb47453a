"""The roster: who is in the class, from a CSV of any of the usual systems.

    ID, Student, SIS Login ID …  ──columns by their usual names──▶ Student(id, name, email, columns)

A cell keeps its text; all cells of a row are in ``Student.columns``, so that an LMS's name for a student (Canvas's
number, Moodle's username, a mail address) leads to the student.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from grader.classroom.records import Student
from grader.errors import UsageError
from grader.frozen import dataclass

FILE = "roster.csv"
TEMPLATE = "id,name,email\n"
MOST_BYTES = 16 << 20

# The usual headings, the best first. An id is what a teacher calls a student by in file names: a login before a number.
IDS = (
    "id", "student id", "studentid", "student_id", "student", "sis login id", "username", "user name", "login",
    "login id", "sid", "sis user id", "id number", "idnumber", "user id", "userid", "matriculation number",
    "matrikelnummer", "org defined id", "orgdefinedid", "identifier", "github_username", "roster_identifier",
    "email", "email address", "e-mail", "mail",
)  # fmt: skip
NAMES = ("name", "full name", "fullname", "student name", "display name", "student")
FIRST_NAMES = ("first name", "firstname", "given name", "first", "vorname")
LAST_NAMES = ("last name", "lastname", "surname", "family name", "last", "nachname")
ALIASES = ("alias", "aliases", "github", "github username", "github_username", "github account")
EMAILS = ("email", "email address", "e-mail", "e-mail address", "mail", "mail address")
CANVAS = ("sis login id", "sis user id")  # with one of these beside it, "ID" is Canvas's own number
POINTS = re.compile(r"\s*points possible", re.IGNORECASE)
NO_STUDENTS = re.compile(rf"{POINTS.pattern}|\s*(student, test|test student)", re.IGNORECASE)


@dataclass(frozen=True)
class Roster:
    """The students in the order of the file. ``used`` is which heading gave what: ``{"id": "SIS Login ID"}``."""

    students: tuple[Student, ...] = ()
    used: Mapping[str, str] = field(default_factory=dict)
    path: str = ""
    left_out: tuple[str, ...] = ()  # rows of an LMS's own that are no students: "Student, Test"


def read_roster(path: Path) -> Roster:
    """The roster in a CSV file; empty if there is no such file. Raises UsageError (``bad_roster``)."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return Roster(path=str(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", code="unreadable") from None
    rows = csv_rows(content, path)
    return _roster(rows, path) if rows else Roster(path=str(path))


def csv_rows(content: bytes, path: Path) -> list[list[str]]:
    """The rows of a CSV file: UTF-8 or Windows' encoding; comma, semicolon or tab. Raises UsageError."""
    if len(content) > MOST_BYTES:
        raise UsageError(f"{path} is larger than {MOST_BYTES >> 20} MiB", code="bad_roster")
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    heading = text.partition("\n")[0]
    separator = max(",;\t", key=heading.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise UsageError(f"{path} is no CSV file: {error}", code="bad_roster") from None
    return [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]


def _roster(rows: Sequence[Sequence[str]], path: Path) -> Roster:
    headings, *lines = rows
    used = columns_of(headings)
    if "id" not in used:
        hint = "the first line names the columns: `id,name,email`; an export of Canvas, Moodle or Gradescope will do"
        raise UsageError(f"{path} has no column with an id: {', '.join(headings)}", code="bad_roster", hint=hint)
    students: dict[str, Student] = {}
    left_out: list[str] = []
    for number, line in enumerate(lines, start=2):
        cells = dict(zip(headings, line, strict=False))
        if NO_STUDENTS.match(line[0]):
            left_out.append(line[0])
            continue
        student = _student(cells, used)
        if not student.id:
            raise _without_id(path, number, student, headings, used["id"])
        if (other := students.setdefault(student.id.casefold(), student)) is not student:
            message = f"{path}, row {number}: the id {student.id!r} is also that of {other.name or 'another row'}"
            raise UsageError(message, code="bad_roster", hint="each student needs an id of their own")
    people = tuple(name for name in left_out if not POINTS.match(name))
    return Roster(tuple(students.values()), used, str(path), people)


def _without_id(path: Path, number: int, student: Student, headings: Sequence[str], heading: str) -> UsageError:
    who = student.name or student.email
    message = f"{path}, row {number}: {f'{who} has no id, because ' if who else ''}the column {heading!r} is empty"
    other = columns_of([name for name in headings if name != heading]).get("id")
    instead = f", or delete this column: the ids are then from {other!r}" if other else ""
    return UsageError(
        message, code="bad_roster", hint=f"each student needs an id of their own: write it there{instead}"
    )


def columns_of(headings: Sequence[str]) -> dict[str, str]:
    """Which heading gives ``id``, ``name`` (or ``first`` and ``last``) and ``email``."""
    known = {heading.strip().strip("\ufeff").casefold(): heading for heading in reversed(headings)}
    ids: Iterable[str] = IDS
    if any(name in known for name in CANVAS):  # Canvas's gradebook: Student is the name, ID its own number
        ids = (*CANVAS, "id")
    used = {"id": _first(known, ids), "name": _first(known, NAMES), "email": _first(known, EMAILS)}
    if not used["name"]:
        used |= {"first": _first(known, FIRST_NAMES), "last": _first(known, LAST_NAMES)}
    if used["name"] == used["id"]:
        used["name"] = ""
    return {what: heading for what, heading in used.items() if heading}


def _first(known: Mapping[str, str], names: Iterable[str]) -> str:
    return next((known[name] for name in names if name in known), "")


def _student(cells: Mapping[str, str], used: Mapping[str, str]) -> Student:
    parts = {what: cells.get(heading, "") for what, heading in used.items()}
    name = parts.get("name") or " ".join(filter(None, (parts.get("first", ""), parts.get("last", ""))))
    return Student(parts["id"], name, parts.get("email", ""), cells)
