"""The teacher's page: what needs a decision, distributions, stumbling blocks, what is worth a look, all grades.

    teacher_page(book, similar=record.similar, pages={"s1": "students/s1.html"}, …) -> str

One self-contained page without scripts. It names students: it is not for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from grader.classroom.gradebook import Grade, Gradebook, Row, number
from grader.classroom.records import ClassSubmission, LateRule, SimilarPair
from grader.frozen import dataclass
from grader.render.classroom import charts, figures
from grader.render.classroom.names import shown_name
from grader.render.html import TONES, environment
from grader.text import counted, cut, duration, percent

SIMILAR_SHOWN = 40
STATE_TONES: Mapping[str, str] = {"overridden": "good", "missing": "bad", "too_late": "bad"}
STATES: Mapping[str, str] = {
    "overridden": "decided by you", "missing": "missing", "too_late": "too late", "waiting": "not graded yet",
    "set_aside": "set aside",
}  # fmt: skip


@dataclass(frozen=True)
class _Cell:
    """A grade in the table: points, the word below them, and its tone."""

    points: str
    word: str
    tone: str
    late: str


def teacher_page(
    book: Gradebook,
    *,
    made: datetime,
    versions: Mapping[str, str | None],
    similar: Sequence[SimilarPair] = (),
    pages: Mapping[str, str] | None = None,
    leaderboard: str = "",
    compared: str = "",
) -> str:
    """Return the page.

    ``pages`` are the addresses of the students' pages by id, ``leaderboard`` that of its page, and ``compared`` that of
    the page with similar submissions side by side.
    """
    assignment = book.assignment
    return environment().get_template("class_teacher.html.j2").render(
        title=f"{cut(assignment.title, 40)} · the class",
        assignment=assignment,
        facts=facts(book),
        made=made.strftime("%Y-%m-%d %H:%M %Z").strip(),
        tasks=figures.tasks(book),
        exercises=[
            (one, charts.histogram(one, f"e{i}-points"), charts.verdict_bars(one, f"e{i}-verdicts"), _words(one))
            for i, one in enumerate(figures.exercise_figures(book))
        ],
        stumbles=figures.stumbles(book),
        slowest=figures.slowest(book),
        looks=figures.worth_a_look(book),
        similar=_pairs(book, similar),
        more_similar=max(0, len(similar) - SIMILAR_SHOWN),
        rows=[(row, [_cell(grade) for grade in row.grades], _total(row)) for row in book.rows],
        max_points=number(book.max_points),
        pages=pages or {},
        leaderboard=leaderboard,
        compared=compared,
        name=shown_name, duration=duration, points=number, percent=percent,
        versions=", ".join(f"{name} {version}" for name, version in versions.items() if version),
    )  # fmt: skip


def facts(book: Gradebook) -> list[str]:
    """Sentences on the assignment: deadline, late rule, which submission counts."""
    assignment = book.assignment
    words = [f"{number(book.max_points)} points for {counted(len(assignment.exercises), 'exercise')}"]
    if assignment.deadline is not None:
        words.append(f"deadline {when(assignment.deadline)}")
        words.append(late_words(assignment.late))
    words.append(f"the {assignment.counts} submission counts")
    return words


def when(moment: datetime) -> str:
    """``2026-11-08 23:59:00 +0100``."""
    return moment.strftime("%Y-%m-%d %H:%M:%S %z").strip()


def late_words(late: LateRule) -> str:
    """The late rule as a sentence."""
    grace = f"{late.grace_minutes} min later cost nothing; " if late.grace_minutes else ""
    if late.days == 0:
        return f"{grace}later than that gets no points"
    end = f", after {counted(late.days, 'day')} all points" if late.days is not None else ""
    return f"{grace}each day that has begun costs {late.percent_per_day:g} %{end}"


def _words(one: figures.ExerciseFigures) -> str:
    handed_in = one.students - one.missing
    words = [f"{handed_in} of {counted(one.students, 'student')} submitted", f"{one.full} with full points"]
    if one.mean is not None and one.median is not None:
        words.append(f"median {number(one.median)}, mean {number(one.mean)} of {number(one.points)}")
    return ", ".join([*words, *([f"{one.open} open"] if one.open else [])])


def _cell(grade: Grade) -> _Cell:
    points = "open" if grade.points is None else number(grade.points)
    word = STATES.get(grade.state) or grade.verdict.replace("_", " ")
    tone = "warn" if grade.is_open else STATE_TONES.get(grade.state) or tone_of(grade.verdict)
    late = f"{grade.attempt.lateness.days} d late" if grade.attempt and grade.attempt.lateness.days else ""
    return _Cell(points, word, tone, late if grade.state == "graded" else "")


def tone_of(verdict: str) -> str:
    return TONES.get(verdict, "bad")


def _total(row: Row) -> str:
    return f"{number(row.total)} + {row.open} open" if row.open else number(row.total)


def _pairs(book: Gradebook, similar: Sequence[SimilarPair]) -> list[tuple[SimilarPair, list[tuple[Row, str, str]]]]:
    """The pairs with, for each side, the student, the file's place, and its shared lines."""
    by_key: dict[str, tuple[Row, ClassSubmission]] = {
        attempt.submission.key: (row, attempt.submission)
        for row in book.rows
        for grade in row.grades
        for attempt in grade.attempts
    }
    shown = []
    for pair in similar[:SIMILAR_SHOWN]:
        if pair.first in by_key and pair.second in by_key:
            sides = (
                (pair.first, [one.first for one in pair.shared]),
                (pair.second, [one.second for one in pair.shared]),
            )
            shown.append((pair, [(*_side(*by_key[key]), _lines(lines)) for key, lines in sides]))
    return shown


def _side(row: Row, submission: ClassSubmission) -> tuple[Row, str]:
    return row, submission.files[0].path if submission.files else ""


def _lines(ranges: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{first}–{last}" if last > first else str(first) for first, last in sorted(ranges)[:8])
