"""`--times`: a CSV that says who submitted when, as an LMS exports it, or as a teacher writes it.

    student,exercise,submitted
    ada,vector_add,2026-12-06T22:04:00+01:00

The student's column is found as a roster's; ``exercise`` may be missing, then the time is that of all exercises. A time
without a zone is in the deadline's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from pathlib import Path

from grader.classroom.collect.exercises import Assigned
from grader.classroom.collect.people import People
from grader.classroom.records import Student
from grader.classroom.roster import columns_of, csv_rows
from grader.errors import UsageError
from grader.frozen import dataclass

TIMES = (
    "submitted", "submitted at", "submitted_at", "submission time", "submission date", "submissiontime", "time",
    "timestamp", "last modified (submission)", "date submitted", "pushed at", "pushed_at", "date",
)  # fmt: skip
EXERCISES = ("exercise", "assignment", "problem", "task", "file")
FORMS = (
    "%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %I:%M:%S %p", "%A, %d %B %Y, %H:%M",  # Moodle's grading worksheet
    "%Y-%m-%d %H:%M:%S %z", "%b %d, %Y %I:%M %p", "%b %d %Y %I:%M %p",
)  # fmt: skip
NOTHING = ("", "-", "–")  # Moodle writes it for who has not submitted


@dataclass(frozen=True)
class Times:
    """The times by student and exercise; ("ada", "") is for all exercises. ``unknown`` are words that name nobody."""

    at: Mapping[tuple[str, str], datetime]
    unknown: tuple[str, ...] = ()

    def of(self, student: str, exercise: str) -> datetime | None:
        return self.at.get((student, exercise)) or self.at.get((student, ""))


def read_times(path: Path, people: People, assigned: Assigned, zone: tzinfo | None) -> Times:
    """The times in a CSV file; of several rows for one student and exercise the latest. Raises UsageError."""
    try:
        rows = csv_rows(path.read_bytes(), path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", code="unreadable") from None
    headings = rows[0] if rows else []
    known = {heading.casefold(): heading for heading in reversed(headings)}
    time_of = next((known[name] for name in TIMES if name in known), None)
    exercise_of = next((known[name] for name in EXERCISES if name in known), None)
    used = columns_of([heading for heading in headings if heading not in (time_of, exercise_of)])
    if time_of is None or not used:
        hint = "name them in the first line: `student,exercise,submitted`; the exercise may be left out"
        message = f"{path} needs a column for the student and one for the time, and has {', '.join(headings) or 'none'}"
        raise UsageError(message, code="bad_times", hint=hint)
    return _times(path, headings, rows[1:], used, time_of, exercise_of, _Readers(people, assigned, zone))


@dataclass(frozen=True)
class _Readers:
    people: People
    assigned: Assigned
    zone: tzinfo | None


def _times(
    path: Path, headings: Sequence[str], lines: Sequence[Sequence[str]], used: Mapping[str, str], time_of: str,
    exercise_of: str | None, readers: _Readers,
) -> Times:  # fmt: skip
    at: dict[tuple[str, str], datetime] = {}
    unknown: dict[str, None] = {}
    for number, line in enumerate(lines, start=2):
        cells = dict(zip(headings, line, strict=False))
        words = [word for what in ("id", "email", "name") if (word := cells.get(used.get(what, ""), ""))]
        text = cells.get(time_of, "")
        if text in NOTHING or not words:
            continue
        exercise = _exercise(path, number, cells.get(exercise_of or "", ""), readers.assigned)
        student = readers.people.who(words, words[0])
        if not isinstance(student, Student):
            unknown[words[0]] = None
            continue
        time = _time(path, number, text, readers.zone)
        at[student.id, exercise] = max(time, at.get((student.id, exercise), time))
    return Times(at, tuple(unknown))


def _exercise(path: Path, number: int, text: str, assigned: Assigned) -> str:
    if text in ("", assigned.name, assigned.assignment.title):
        return ""
    named = assigned.named((text if text.endswith((".cu", ".py")) else f"{text}.cu",))
    if isinstance(named, str):
        names = ", ".join(assigned.exercises)
        message = f"{path}, row {number}: {text!r} is no exercise of this assignment"
        raise UsageError(message, code="bad_times", hint=f"the exercises are {names}; leave the cell empty for all")
    return named.exercise


def _time(path: Path, number: int, text: str, zone: tzinfo | None) -> datetime:
    time = _read_time(text)
    if time is None:
        message = f"{path}, row {number}: {text!r} is no date and time"
        raise UsageError(message, code="bad_times", hint="write 2026-12-06T22:04:00+01:00")
    if time.tzinfo is None and zone is None:
        hint = "write +01:00 or Z after each time, or give the assignment a deadline: its zone is then used"
        raise UsageError(f"{path}, row {number}: {text!r} has no time zone", code="bad_times", hint=hint)
    return time if time.tzinfo else time.replace(tzinfo=zone)


def _read_time(text: str) -> datetime | None:
    if text.endswith((" UTC", " GMT")):
        text = f"{text[:-4]}+00:00"
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    for form in FORMS:
        with suppress(ValueError):
            return datetime.strptime(text, form)
    return None


def read_timestamp(content: bytes) -> datetime | None:
    """nbgrader's ``timestamp.txt``: ``2026-12-06 21:04:05.123456 UTC``; a time without a zone says nothing."""
    time = _read_time(content[:100].decode("utf-8", "replace").strip())
    return time if time and time.tzinfo else None
