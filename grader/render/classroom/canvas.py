"""Canvas: a gradebook file of its own, or one column of the instructor's own export. Pure.

    to_canvas(book) -> Exported                    a column for each exercise; an unknown title makes a new assignment
    fill_canvas(content, book, column=…) -> Filled the export as it is, byte for byte, but for the cells of one column

Canvas finds a student by ID, then SIS User ID, SIS Login ID, and the exact name; so do we. The row `Points Possible`
says what a column is out of: points are scaled to it. Excused students (EX) stay excused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from grader.classroom.gradebook import Gradebook, Row, number, rounded
from grader.classroom.records import Student
from grader.errors import UsageError
from grader.frozen import dataclass
from grader.render.classroom.tables import (
    Column,
    Exported,
    LeftOut,
    Missing,
    exercise_columns,
    is_neutral,
    neutral,
    open_grades,
    points_cell,
    total_column,
    unknown_students,
    written,
)
from grader.text import counted, listed

STUDENT, ID, SIS_USER, SIS_LOGIN = "Student", "ID", "SIS User ID", "SIS Login ID"
FIXED = (STUDENT, ID, SIS_USER, SIS_LOGIN, "Integration ID", "Root Account", "Section")
POINTS = "Points Possible"
READ_ONLY = "(read only)"
EXCUSED = "EX"
TEST_STUDENT = "Student, Test"

# --------------------------------------------------------------------------------------------------- a file of its own


def to_canvas(book: Gradebook, *, exercise: str | None = None, missing: Missing = "zero") -> Exported:
    """A file to import: a column for each exercise, or for one."""
    columns = exercise_columns(book, exercise)
    titles = [neutral(f"{book.assignment.title}: {column.title}") for column in columns]
    rows = [[STUDENT, ID, SIS_USER, SIS_LOGIN, "Section", *titles]]
    rows.append([f"    {POINTS}", "", "", "", "", *(number(column.max_points) for column in columns)])
    left_out = unknown_students(book)
    for row in (row for row in book.rows if row.known):
        identity = _identity(row.student)
        if not all(map(is_neutral, identity[1:4])):
            left_out.append(LeftOut(row.student.id, "a spreadsheet would execute the id"))
            continue
        rows.append([neutral(identity[0]), *identity[1:], *(points_cell(c, row, missing) for c in columns)])
    return Exported(written(rows), (*left_out, *open_grades(columns, [row for row in book.rows if row.known])))


def _identity(student: Student) -> list[str]:
    """The five cells that name a student: Canvas's own if the roster is an export of Canvas."""
    cells = student.columns
    known = [cells.get(name, "") for name in (ID, SIS_USER, SIS_LOGIN)]
    if not any(known):
        known = ["", "", student.id]
    return [cells.get(STUDENT) or student.name or student.id, *known, neutral(cells.get("Section", ""))]


# ------------------------------------------------------------------------------------------------ the instructor's file


@dataclass(frozen=True)
class Filled:
    """The export with one column filled; who of the class has no cell in it, and remarks."""

    content: bytes
    filled: int
    left_out: tuple[LeftOut, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Cell:
    """A cell of a CSV file: its text, and where it is written."""

    text: str
    start: int
    end: int


def fill_canvas(
    content: bytes, book: Gradebook, *, column: str | None = None, exercise: str | None = None,
    missing: Missing = "zero",
) -> Filled:  # fmt: skip
    """Fill the column with this title. Raises UsageError if the file is no export of Canvas, or has no such column."""
    encoding = _encoding(content)
    text = content.decode(encoding)
    separator = ";" if text.partition("\n")[0].count(";") > text.partition("\n")[0].count(",") else ","
    rows = [*_rows(text, separator)]
    headings = [cell.text.strip() for cell in rows[0]] if rows else []
    if not headings or headings[0] != STUDENT:
        raise UsageError(
            "this is no gradebook of Canvas: its first column must be Student", code="bad_gradebook",
            hint="in Canvas: Grades, Export, Export Entire Gradebook",
        )  # fmt: skip
    at = _column_at(headings, column, book, exercise)
    source = exercise_columns(book, exercise)[0] if exercise else total_column(book)
    scale, remarks = _scale(rows, at, source, headings[at])
    changes, left_out, seen = [], unknown_students(book), set()
    find = _Finder(book, headings)
    for cells in rows[1:]:
        row = None if _is_no_student(cells) else find(cells)
        if row is None:
            continue
        seen.add(row.student.id)
        value = _value(source, row, missing, scale, decimal="," if separator == ";" else ".")
        if at >= len(cells):
            left_out.append(LeftOut(row.student.id, "the row of the file is too short"))
        elif cells[at].text.strip().upper() == EXCUSED:
            left_out.append(LeftOut(row.student.id, "excused in Canvas"))
        elif value:
            changes.append((cells[at], value))
    left_out += [LeftOut(row.student.id, "not in the file") for row in find.rows if row.student.id not in seen]
    left_out += open_grades([source], [row for row in find.rows if row.student.id in seen])
    filled = _replaced(text, changes).encode(encoding)
    return Filled(filled, len(changes), tuple(left_out), (*remarks, *find.remarks))


def _encoding(content: bytes) -> str:
    """UTF-8, or an encoding that keeps any bytes. Raises UsageError for UTF-16."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UsageError("the file is UTF-16", code="bad_gradebook", hint="export it from Canvas again, and fill that")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _rows(text: str, separator: str) -> Iterator[list[_Cell]]:
    """The rows with the place of each cell. Raises UsageError if a quote is not closed."""
    quoted = re.compile(r'"((?:[^"]|"")*)"')
    plain = re.compile(rf"[^{separator}\r\n]*")
    at, row = int(text.startswith("\ufeff")), []
    while at < len(text):
        match = quoted.match(text, at) if text[at] == '"' else plain.match(text, at)
        if match is None:
            raise UsageError("a quote of the file is not closed", code="bad_gradebook", hint="export it again")
        end = _end(plain, text, match.end())
        inner = match[1].replace('""', '"') if text[at] == '"' else match[0]
        row.append(_Cell(inner, at, end))
        at = end
        if at < len(text) and text[at] == separator:
            at += 1
            if at == len(text) or text[at] in "\r\n":
                row.append(_Cell("", at, at))
        if at < len(text) and text[at] in "\r\n":
            at += 2 if text.startswith("\r\n", at) else 1
            yield row
            row = []
    if row:
        yield row


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _column_at(headings: Sequence[str], column: str | None, book: Gradebook, exercise: str | None) -> int:
    """The place of the column: its title, with or without Canvas's number after it."""
    wanted = [column] if column else [exercise, f"{book.assignment.title}: {exercise}"] if exercise else []
    wanted = wanted or [book.assignment.title, book.assignment.name]
    titles = {at: heading for at, heading in enumerate(headings) if heading not in FIXED}
    exact = [at for at, title in titles.items() if title in wanted]
    without = [at for at, title in titles.items() if re.sub(r"\s*\(\d+\)$", "", title) in wanted]
    found = exact or without
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} columns are called" if found else "there is no column"
    raise UsageError(
        f"{what} {' or '.join(repr(one) for one in wanted)}", code="unknown_column",
        hint=f"name one with --column: {listed(map(repr, list(titles.values())[:20]))}",
    )  # fmt: skip


def _scale(rows: Sequence[Sequence[_Cell]], at: int, source: Column, title: str) -> tuple[float, list[str]]:
    """What points are multiplied with, so that all of them are the column's Points Possible."""
    row = next((cells for cells in rows[1:4] if POINTS.lower() in cells[0].text.lower()), None)
    possible = row[at].text.strip() if row and at < len(row) else ""
    if possible == READ_ONLY:
        raise UsageError(
            f"Canvas computes the column {title!r} itself", code="unknown_column", hint="fill that of an assignment"
        )
    try:
        points = float(possible.replace(",", "."))
    except ValueError:
        return 1.0, []
    if points == source.max_points or points <= 0:
        return 1.0, []
    return points / source.max_points, [
        f"{title!r} is out of {number(points)}: the {number(source.max_points)} points of the class are scaled to it."
    ]


def _is_no_student(cells: Sequence[_Cell]) -> bool:
    name = cells[0].text
    return POINTS.lower() in name.lower() or name.strip() in ("", TEST_STUDENT)


def _value(source: Column, row: Row, missing: Missing, scale: float, decimal: str) -> str:
    cell = points_cell(source, row, missing)
    return number(rounded(float(cell) * scale)).replace(".", decimal) if cell else ""


def _replaced(text: str, changes: Sequence[tuple[_Cell, str]]) -> str:
    pieces, at = [], 0
    for cell, value in changes:
        pieces += [text[at : cell.start], value]
        at = cell.end
    return "".join([*pieces, text[at:]])


class _Finder:
    """Finds the student of a row as Canvas would; one who was found twice, or by a shared name, is found no more."""

    def __init__(self, book: Gradebook, headings: Sequence[str]) -> None:
        self.rows = [row for row in book.rows if row.known]
        self.remarks: list[str] = []
        self._at = {name: headings.index(name) for name in (ID, SIS_USER, SIS_LOGIN, STUDENT) if name in headings}
        self._by = {name: self._known(name) for name in self._at}
        self._found: Counter[str] = Counter()

    def __call__(self, cells: Sequence[_Cell]) -> Row | None:
        for name, at in self._at.items():
            text = cells[at].text.strip() if at < len(cells) else ""
            row = self._by[name].get(text) if text else None
            if row is not None:
                self._found[row.student.id] += 1
                if self._found[row.student.id] > 1:
                    self.remarks.append(f"{counted(2, 'row')} of the file are {row.student.id}: the first was filled.")
                    return None
                return row
        return None

    def _known(self, name: str) -> Mapping[str, Row]:
        """The students by what they are called in this column; what two are called, nobody is."""
        names = [(text, row) for row in self.rows for text in {*_called(row.student, name)} if text]
        often = Counter(text for text, _ in names)
        return {text: row for text, row in names if often[text] == 1}


def _called(student: Student, column: str) -> Iterator[str]:
    """What a student may be called in a column of Canvas."""
    yield student.columns.get(column, "")
    if column == STUDENT:
        yield student.name
    elif column == SIS_LOGIN:
        yield from (student.id, student.email)
    elif not student.columns.get(column):  # a roster of Canvas has its own ids
        yield student.id
