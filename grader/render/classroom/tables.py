"""Gradebooks as CSV: what all of them share, and the plain one. Pure.

A cell that a spreadsheet would execute (it begins with = + - @, a tab or a line break) gets an apostrophe before it;
control characters and bidirectional marks are made visible. Who is not on the roster is left out, and listed.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Literal

from grader.classroom.gradebook import OPEN, Grade, Gradebook, Row, number
from grader.frozen import dataclass
from grader.text import safe

Missing = Literal["zero", "blank"]
_FORMULA = re.compile(r"\s*[=+\-@\t\r\n＝＋－＠]")


@dataclass(frozen=True)
class LeftOut:
    """Somebody whose grade is not in the export, and why."""

    who: str
    why: str


@dataclass(frozen=True)
class Exported:
    """The text of an export, what is not in it, and remarks for the teacher. ``is_empty``: it has nobody's grades."""

    text: str
    left_out: tuple[LeftOut, ...] = ()
    remarks: tuple[str, ...] = ()
    is_empty: bool = False


@dataclass(frozen=True)
class Column:
    """A column of points: of one exercise, or of all together. ``points`` is None for an open grade."""

    title: str
    max_points: float
    points: Callable[[Row], float | None]
    grades: Callable[[Row], Sequence[Grade]]


def neutral(text: str) -> str:
    """The cell as text that no spreadsheet executes, on one line."""
    return f"'{safe(text)}" if _FORMULA.match(text) else safe(text)


def is_neutral(text: str) -> bool:
    """Whether the cell may be written as it is; an id that may not be would name nobody."""
    return neutral(text) == text


def exercise_columns(book: Gradebook, exercise: str | None = None) -> list[Column]:
    """A column for each exercise, or only that of ``exercise``."""
    names = [(one.name, one.points) for one in book.assignment.exercises if exercise in (None, one.name)]
    return [Column(name, points, partial(_points, name), partial(_grades, name)) for name, points in names]


def _points(exercise: str, row: Row) -> float | None:
    return row.of(exercise).points


def _grades(exercise: str, row: Row) -> Sequence[Grade]:
    return (row.of(exercise),)


def total_column(book: Gradebook) -> Column:
    """The points of all exercises; open while one of them is."""
    return Column("total", book.max_points, lambda row: None if row.open else row.total, lambda row: row.grades)


def points_cell(column: Column, row: Row, missing: Missing) -> str:
    """The points as text; blank for an open grade, and for a missing one if the teacher wants that."""
    points = column.points(row)
    all_missing = all(grade.state == "missing" for grade in column.grades(row))
    return "" if points is None or (missing == "blank" and all_missing) else number(points)


def open_grades(columns: Sequence[Column], rows: Iterable[Row]) -> list[LeftOut]:
    """The grades without points, each with its reason."""
    return [
        LeftOut(f"{row.student.id}, {grade.exercise}", OPEN[grade.state])
        for row in rows
        for name in dict.fromkeys(grade.exercise for column in columns for grade in column.grades(row))
        if (grade := row.of(name)).state in OPEN
    ]


def unknown_students(book: Gradebook) -> list[LeftOut]:
    return [LeftOut(row.student.id, "not on the roster") for row in book.unknown]


def written(rows: Iterable[Sequence[str]]) -> str:
    """The rows as CSV; the cells are neutral already."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


def to_csv(book: Gradebook, *, exercise: str | None = None, missing: Missing = "zero") -> Exported:
    """All students, with points, state and days late of each exercise, and the total."""
    columns = exercise_columns(book, exercise)
    total = [] if exercise else [total_column(book)]
    headings = [heading for c in columns for heading in (c.title, f"{c.title} result", f"{c.title} days late")]
    head = ["id", "name", "email", "on the roster", *headings, *(["total", "of", "open"] if total else [])]
    rows = [list(map(neutral, head))]
    for row in book.rows:
        student = row.student
        cells = [student.id, student.name, student.email, "yes" if row.known else "no"]
        for column in columns:
            (grade,) = column.grades(row)
            late = str(grade.attempt.lateness.days) if grade.attempt and grade.attempt.lateness.known else ""
            result = grade.verdict if grade.state == "graded" else grade.state
            cells += [points_cell(column, row, missing), result, late]
        cells += [number(row.total), number(book.max_points), str(row.open)] if total else []
        rows.append(list(map(neutral, cells)))
    return Exported(written(rows), tuple(open_grades(columns, book.rows)))
