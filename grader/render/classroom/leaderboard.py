"""The leaderboard: who passed, the fastest first, under pseudonyms. Pure.

A teacher asks for it; it names nobody. Each student's own page says their pseudonym. Without times (on the simulator)
the points decide. Equal results share a place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from grader.classroom.gradebook import Grade, Gradebook, Row, number
from grader.frozen import dataclass
from grader.render.html import environment
from grader.text import cut, duration, percent

Line = tuple[str, float, tuple[str, ...]]
"""Pseudonym, merit and cells."""


@dataclass(frozen=True)
class Place:
    """A line of the board. ``merit`` decides the place, the larger the better."""

    place: int
    pseudonym: str
    merit: float
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Board:
    """One table: of an exercise, or of all points."""

    title: str
    columns: tuple[str, ...]
    places: tuple[Place, ...]


def boards(book: Gradebook, pseudonyms: Mapping[str, str]) -> tuple[Board, ...]:
    """The table of all points, and one for each exercise and GPU with times."""
    rows = [row for row in book.rows if row.known and any(grade.attempts for grade in row.grades)]
    total = [(pseudonyms[row.student.id], row.total, (number(row.total), _passed(row))) for row in rows]
    made = [Board("All exercises", ("points", "passed"), _placed(total))]
    for at, exercise in enumerate(book.assignment.exercises):
        lines: dict[str, list[Line]] = defaultdict(list)
        for row in rows:
            if timed := _timed(row.grades[at]):
                gpu, measured = timed
                lines[gpu].append((pseudonyms[row.student.id], -float(measured["median_s"]), _cells(measured)))
        for gpu in sorted(lines):
            title = f"{exercise.name}, {gpu}" if gpu else exercise.name
            made.append(Board(title, ("time", "of the peak"), _placed(lines[gpu])))
    return tuple(made)


def _passed(row: Row) -> str:
    return f"{sum(map(_has_passed, row.grades))} of {len(row.grades)}"


def _has_passed(grade: Grade) -> bool:
    return grade.verdict == "pass" and grade.state != "too_late"


def _timed(grade: Grade) -> tuple[str, Mapping[str, Any]] | None:
    """GPU and timing of the submission that counts, if it passed."""
    result = grade.attempt.result if grade.attempt else None
    measured = (result.run.get("measured") or {}) if result and _has_passed(grade) else {}
    return (str(result.run.get("device") or ""), measured) if result and measured.get("median_s") else None


def _cells(measured: Mapping[str, Any]) -> tuple[str, ...]:
    part = measured.get("fraction_of_peak")
    return duration(float(measured["median_s"])), percent(float(part)) if part is not None else ""


def no_speed(book: Gradebook) -> str:
    """Why no exercise has a table of times."""
    attempts = [attempt for grade in book.grades for attempt in grade.attempts if attempt.result]
    if any(attempt.result and attempt.result.machine.get("gpu") for attempt in attempts):
        return "There is no table of speed: no submission that passed was timed."
    return "There is no table of speed: kernels are timed on a GPU alone, and this class was graded without one."


def _placed(lines: Sequence[Line]) -> tuple[Place, ...]:
    ordered = sorted(lines, key=lambda line: (-line[1], line[0]))
    merits = [merit for _, merit, _ in ordered]
    return tuple(Place(merits.index(merit) + 1, name, merit, cells) for name, merit, cells in ordered)


def leaderboard_page(book: Gradebook, pseudonyms: Mapping[str, str], *, made: datetime) -> str:
    """Return the page."""
    made_boards = boards(book, pseudonyms)
    return environment().get_template("class_leaderboard.html.j2").render(
        title=f"{cut(book.assignment.title, 40)} · leaderboard",
        assignment=book.assignment,
        boards=made_boards,
        no_speed="" if len(made_boards) > 1 else no_speed(book),
        made=made.strftime("%Y-%m-%d %H:%M %Z").strip(),
    )  # fmt: skip
