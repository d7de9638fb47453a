"""The page of one student: points with reasons, and for each exercise what was found in the own lines.

    student_page(row, book, texts={key: {"vector_add.cu": "…"}}, facts={…}, private=["/srv/teacher"]) -> str

It shows nothing of others, no seed and no hidden case (`shown.for_student`); ``private`` texts are blotted out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from grader.classroom.gradebook import Attempt, Grade, Gradebook, Row, number
from grader.render.classroom.names import shown_name
from grader.render.classroom.shown import ExerciseFacts, for_student, scrubbed
from grader.render.classroom.teacher import facts as assignment_facts
from grader.render.classroom.teacher import tone_of, when
from grader.render.html import LARGEST, LEVELS, GradedPage, environment, section
from grader.render.json import read_verdict
from grader.text import cut
from grader.verdict import Verdict

Texts = Mapping[str, Mapping[str, str]]
"""The texts of submitted files: by the submission's key, then by the file's name; the kernel's file first."""

WORDS: Mapping[str, str] = {
    "missing": "nothing submitted", "waiting": "not graded yet", "set_aside": "not graded yet",
    "error": "not graded yet", "inconclusive": "not graded yet", "too_late": "too late",
    "overridden": "decided by your teacher",
}  # fmt: skip
OPEN_WORDS = "This is not graded yet: your teacher is going to look at it. It does not count as 0 points."


def student_page(
    row: Row,
    book: Gradebook,
    *,
    made: datetime,
    texts: Texts,
    facts: Mapping[str, ExerciseFacts],
    private: Sequence[str] = (),
    pseudonym: str = "",
    versions: Mapping[str, str | None],
) -> str:
    """Return the page; a page that is too large is made again with less content."""
    for level in LEVELS:
        page = _page(row, book, made, texts, facts, private, pseudonym, versions, level)
        if len(page.encode("utf-8", "replace")) <= LARGEST:
            break
    return page


def _page(
    row: Row,
    book: Gradebook,
    made: datetime,
    texts: Texts,
    facts: Mapping[str, ExerciseFacts],
    private: Sequence[str],
    pseudonym: str,
    versions: Mapping[str, str | None],
    level: str,
) -> str:
    return environment().get_template("class_student.html.j2").render(
        title=f"{cut(book.assignment.title, 40)} · {cut(shown_name(row.student), 24)}",
        assignment=book.assignment,
        facts=assignment_facts(book),
        row=row,
        name=shown_name(row.student),
        pseudonym=pseudonym,
        total=number(row.total),
        max_points=number(book.max_points),
        made=made.strftime("%Y-%m-%d %H:%M %Z").strip(),
        grades=[
            _grade(grade, f"s{at}", book, texts, facts.get(grade.exercise, ExerciseFacts()), private, level)
            for at, grade in enumerate(row.grades, start=1)
        ],
        level=level, points=number, when=when, OPEN_WORDS=OPEN_WORDS,
        versions=", ".join(f"{name} {version}" for name, version in versions.items() if version),
    )  # fmt: skip


def _grade(
    grade: Grade, name: str, book: Gradebook, texts: Texts, facts: ExerciseFacts, private: Sequence[str], level: str
) -> dict[str, Any]:
    """The template's values for one exercise."""
    verdict = seen_verdict(grade, book.assignment.hidden, facts, private)
    shown: dict[str, Any] | None = None
    points = "open" if grade.points is None else f"{number(grade.points)} of {number(grade.max_points)} points"
    if verdict is not None and grade.attempt is not None:
        own = texts.get(grade.attempt.submission.key, {})
        first, *others = [*own.items()] or [("", "")]
        page = GradedPage(verdict, first[1], facts.idea, (), dict(others))
        shown = section(page, name, level, "") | {"points": points}
    return {
        "id": name,
        "grade": grade,
        "points": points,
        "word": WORDS.get(grade.state) or grade.verdict.replace("_", " "),
        "tone": "warn" if grade.is_open else "good" if grade.state == "overridden" else tone_of(grade.verdict),
        "reasons": [*reasons(grade)],
        "attempts": [(attempt, _attempt_words(attempt), attempt is grade.attempt) for attempt in grade.attempts],
        "section": shown,
    }


def seen_verdict(grade: Grade, hidden: str, facts: ExerciseFacts, private: Sequence[str]) -> Verdict | None:
    """What the student may see of the result that counts; None if there is none, or it cannot be read."""
    if grade.attempt is None or grade.attempt.result is None or grade.is_open or not grade.attempt.result.run:
        return None
    try:
        verdict = read_verdict(scrubbed(grade.attempt.result.run, private))
    except ValueError:
        return None
    return for_student(verdict, hidden=hidden, published=facts.published)


def reasons(grade: Grade) -> Iterator[str]:
    """Why the points are what they are, as sentences."""
    if grade.override is not None:
        why = f": {grade.override.reason}" if grade.override.reason else "."
        yield f"Your teacher gave {number(grade.override.points)} of {number(grade.max_points)} points{why}"
        yield from grade.notes
        return
    for one in grade.attempt.deductions if grade.attempt and not grade.is_open else ():
        yield f"−{number(one.points)}: {one.reason}."
    yield from (OPEN_WORDS,) if grade.is_open else grade.notes


def _attempt_words(attempt: Attempt) -> str:
    if attempt.points is None:
        return "not graded yet"
    verdict = attempt.result.verdict.replace("_", " ") if attempt.result else ""
    return ", ".join(filter(None, (verdict, "too late" if attempt.state == "too_late" else "")))
