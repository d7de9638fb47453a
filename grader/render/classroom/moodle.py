"""Moodle: a file for its grade import. Pure.

    to_moodle(book, match="idnumber") -> Exported      useridnumber, exercise, "exercise feedback", …

One unknown user aborts Moodle's whole import, so students who are not on the roster, or have nothing in the column that
names them, are left out and listed. So is who has an open grade: an empty cell could remove a grade. A grade is never
above the maximum, which Moodle refuses, and feedback stands beside its grade: alone it would wipe the grade.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Literal

from grader.classroom.gradebook import Gradebook, Row, number
from grader.classroom.records import Student
from grader.render.classroom.student import reasons
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
    unknown_students,
    written,
)

Match = Literal["idnumber", "email", "username"]
MATCHES: Mapping[str, Match] = {"idnumber": "idnumber", "email": "email", "username": "username"}
HEADINGS = {"idnumber": "useridnumber", "email": "useremail", "username": "username"}
_COLUMNS = {
    "idnumber": ("idnumber", "id number", "useridnumber", "user id number"),
    "email": ("email", "email address", "e-mail", "useremail", "mail"),
    "username": ("username", "user name", "login"),
}


def to_moodle(
    book: Gradebook, *, match: Match = "idnumber", exercise: str | None = None, missing: Missing = "zero"
) -> Exported:
    """The file; `Map from` and `Map to` of the import page are chosen by its headings."""
    columns = exercise_columns(book, exercise)
    rows = [[HEADINGS[match], *(neutral(h) for c in columns for h in (c.title, f"{c.title} feedback"))]]
    left_out, remarks = unknown_students(book), []
    for row in (row for row in book.rows if row.known):
        named = _matched(row.student, match)
        cells = [points_cell(column, row, missing) for column in columns]
        if not named:
            left_out.append(LeftOut(row.student.id, f"no {HEADINGS[match]} that Moodle could match"))
        elif any(not cell for cell in cells):
            left_out += open_grades(columns, [row]) or [LeftOut(row.student.id, "nothing was submitted")]
        else:
            rows.append(
                [named, *(text for c, cell in zip(columns, cells, strict=True) for text in _pair(c, cell, row))]
            )
    over = sum((c.points(row) or 0) > c.max_points for c in columns for row in book.rows if row.known)
    if over:
        remarks.append(f"{over} above the maximum: the maximum is written, because Moodle refuses more.")
    return Exported(written(rows), tuple(left_out), tuple(remarks), is_empty=len(rows) == 1)


def working_matches(book: Gradebook) -> dict[Match, int]:
    """How many students of the roster each way to match names; only the ways that name somebody."""
    counts = {
        match: sum(bool(_matched(row.student, match)) for row in book.rows if row.known) for match in MATCHES.values()
    }
    return {match: count for match, count in counts.items() if count}


def _matched(student: Student, match: Match) -> str:
    named = user(student, match)
    return named if is_neutral(named) else ""


def user(student: Student, match: Match) -> str:
    """What Moodle knows the student by: the roster's column, else the id or the address."""
    cells = {name.strip().casefold(): text.strip() for name, text in student.columns.items()}
    named = next((cells[name] for name in _COLUMNS[match] if cells.get(name)), "")
    return named or (student.email.strip() if match == "email" else student.id)


def _pair(column: Column, cell: str, row: Row) -> tuple[str, str]:
    """Grade and feedback."""
    (grade,) = column.grades(row)
    words = " ".join(reasons(grade)) or f"The verdict is {grade.verdict.replace('_', ' ')}."
    return number(min(float(cell), column.max_points)), neutral(escape(words, quote=False))
