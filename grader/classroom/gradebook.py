"""The gradebook of a class: which submission counts, how many points it gets, and why. Pure.

    ClassRecord ──▶ attempts of each student and exercise ──choose──▶ Grade ──override──▶ Row ──▶ Gradebook

Each submission is an `Attempt` with points of its own: those of its run, scaled to the assignment's, less what being
late costs. `Assignment.counts` chooses among them. A grade without a result is *open*: no points (None), never 0.

- A submission after the deadline and its grace loses ``percent_per_day`` of its points for each 24 hours that began.
- A submission that is too late gets 0 points, and counts only if there is no other.
- A submission whose time nobody knows is not late; its grade says so.
- A stage that could not be graded leaves the maximum, as in the grader: 80 of 80 points are all points.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from grader.classroom.records import (
    AssignedExercise,
    Assignment,
    ClassRecord,
    ClassSubmission,
    LateRule,
    Override,
    Result,
    Student,
)
from grader.frozen import dataclass
from grader.text import counted

State = Literal["graded", "overridden", "too_late", "missing", "waiting", "inconclusive", "set_aside", "error"]

OPEN: Mapping[str, str] = {
    "waiting": "it has not been graded yet",
    "inconclusive": "its time could not be measured well enough",
    "set_aside": "it ended several workers and was set aside",
    "error": "the grader could not grade it",
}
"""The states without points, each with its reason."""

NO_TIME = "The time of the submission is not known: it does not count as late."
MARKED_LATE = "The LMS marks the submission as late without a time: here it does not count as late."

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Deduction:
    """Points that are missing from the maximum: lost by the ``verdict``, by being ``late``, or ``too_late``."""

    kind: Literal["verdict", "late", "too_late"]
    points: float
    reason: str


@dataclass(frozen=True)
class Lateness:
    """How late a submission is: the time since the deadline, and the days that have begun after the grace."""

    known: bool = True  # False: nobody knows when it was submitted
    by: timedelta = timedelta(0)
    days: int = 0
    too_late: bool = False


@dataclass(frozen=True)
class Attempt:
    """One submission by itself; ``points`` is None while it is open. ``earned`` is before the late rule."""

    submission: ClassSubmission
    result: Result | None
    state: State
    points: float | None
    earned: float | None
    lateness: Lateness
    deductions: tuple[Deduction, ...] = ()


@dataclass(frozen=True)
class Grade:
    """What a student gets for an exercise, and why. ``attempt`` is the submission that counts, if there is one."""

    student: str
    exercise: str
    max_points: float
    state: State
    points: float | None
    attempt: Attempt | None = None
    attempts: tuple[Attempt, ...] = ()
    override: Override | None = None
    notes: tuple[str, ...] = ()  # sentences: what a reader might otherwise miss

    @property
    def is_open(self) -> bool:
        return self.points is None

    @property
    def verdict(self) -> str:
        """The verdict of the submission that counts; "" if it has none."""
        return self.attempt.result.verdict if self.attempt and self.attempt.result else ""


@dataclass(frozen=True)
class Row:
    """A student's grades, in the assignment's order. ``known`` is False for one who is not on the roster."""

    student: Student
    known: bool
    grades: tuple[Grade, ...]

    @property
    def total(self) -> float:
        """The points that are certain; open grades are not in it."""
        return rounded(sum(grade.points or 0.0 for grade in self.grades))

    @property
    def open(self) -> int:
        return sum(grade.is_open for grade in self.grades)

    def of(self, exercise: str) -> Grade:
        return next(grade for grade in self.grades if grade.exercise == exercise)


@dataclass(frozen=True)
class Gradebook:
    """The grades of a class: rows in the order of the roster, then those of unknown students."""

    assignment: Assignment
    rows: tuple[Row, ...]
    stray: tuple[ClassSubmission, ...] = field(default=())  # of exercises that are not assigned
    unchanged: frozenset[str] = frozenset()  # ClassSubmission.key of unchanged stubs

    @property
    def max_points(self) -> float:
        return rounded(sum(exercise.points for exercise in self.assignment.exercises))

    @property
    def grades(self) -> tuple[Grade, ...]:
        return tuple(grade for row in self.rows for grade in row.grades)

    @property
    def unknown(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if not row.known)


def gradebook(record: ClassRecord) -> Gradebook:
    """Return the grades of all students of the roster, and of those who submitted without being on it."""
    results = {result.submission: result for result in sorted(record.results, key=lambda result: result.ended)}
    submitted: dict[tuple[str, str], list[ClassSubmission]] = defaultdict(list)
    for submission in record.submissions:
        submitted[submission.student, submission.exercise].append(submission)
    overrides = {(o.student, o.exercise): o for o in sorted(record.overrides, key=lambda override: override.made)}

    def row(student: Student, *, known: bool) -> Row:
        keys = [(exercise, (student.id, exercise.name)) for exercise in record.assignment.exercises]
        made = (
            _overridden(_grade(record.assignment, exercise, student.id, submitted[key], results), overrides.get(key))
            for exercise, key in keys
        )
        return Row(student, known, tuple(made))

    rows = [row(student, known=True) for student in record.roster]
    rows += [row(student, known=not record.roster) for student in _others(record)]
    assigned = {exercise.name for exercise in record.assignment.exercises}
    stray = tuple(submission for submission in record.submissions if submission.exercise not in assigned)
    return Gradebook(record.assignment, tuple(rows), stray, record.unchanged)


def _others(record: ClassRecord) -> Iterable[Student]:
    """Students with a submission or an override who are not on the roster."""
    known = {student.id for student in record.roster}
    met = {submission.student for submission in record.submissions} | {one.student for one in record.overrides}
    return [Student(name) for name in sorted(met - known)]


# ------------------------------------------------------------------------------------------------------- one submission


def lateness(rule: LateRule, deadline: datetime | None, submitted: datetime | None) -> Lateness:
    """Return how late a submission is. Compared in UTC: a clock that is set back in between changes nothing."""
    if submitted is None:
        return Lateness(known=False)
    if deadline is None:
        return Lateness()
    by = _utc(submitted, deadline) - _utc(deadline, deadline)
    over = by - timedelta(minutes=rule.grace_minutes)
    if over <= timedelta(0):
        return Lateness(by=max(by, timedelta(0)))
    days = -(-over // DAY)
    return Lateness(by=by, days=days, too_late=rule.days is not None and days > rule.days)


def _utc(when: datetime, like: datetime) -> datetime:
    """``when`` in UTC; a time without a zone is in that of ``like``, else in UTC."""
    return (when if when.tzinfo else when.replace(tzinfo=like.tzinfo or UTC)).astimezone(UTC)


def _attempt(
    assignment: Assignment, exercise: AssignedExercise, submission: ClassSubmission, result: Result | None
) -> Attempt:
    late = lateness(assignment.late, assignment.deadline, submission.submitted)
    state = _state(result)
    earned = scaled(result, exercise.points) if state == "graded" else None
    lost = _lost_by_verdict(result, earned, exercise.points)
    if late.too_late:
        why = Deduction("too_late", earned or 0.0, f"submitted {_by_words(late)} after the deadline: too late")
        return Attempt(submission, result, "too_late", 0.0, earned, late, (*lost, why))
    if earned is None:
        return Attempt(submission, result, state, None, None, late)
    if not (late.days and assignment.late.percent_per_day):
        return Attempt(submission, result, state, earned, earned, late, lost)
    percent = min(100.0, assignment.late.percent_per_day * late.days)
    points = rounded(earned * (1 - percent / 100))
    words = f"{counted(late.days, 'day')} late: {percent:g} % of {number(earned)} points"
    return Attempt(
        submission, result, state, points, earned, late, (*lost, Deduction("late", rounded(earned - points), words))
    )


def _state(result: Result | None) -> State:
    if result is None:
        return "waiting"
    if result.verdict in ("inconclusive", "set_aside"):
        return "inconclusive" if result.verdict == "inconclusive" else "set_aside"
    nothing = result.points is None or not result.max_points
    return "error" if nothing or result.verdict in ("error", "unsupported") else "graded"


def scaled(result: Result | None, points: float) -> float | None:
    """The points of a run as part of the assignment's ``points``; None if the run has none."""
    if result is None or result.points is None or not result.max_points:
        return None
    return rounded(points * result.points / result.max_points)


def _lost_by_verdict(result: Result | None, earned: float | None, most: float) -> tuple[Deduction, ...]:
    if result is None or earned is None or earned >= most:
        return ()
    return (Deduction("verdict", rounded(most - earned), f"the verdict is {result.verdict.replace('_', ' ')}"),)


def _by_words(late: Lateness) -> str:
    """``2 days 3 h``, ``5 min``, ``1 s``: the two largest units."""
    minutes, seconds = divmod(int(late.by.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [
        (days, counted(days, "day")),
        (hours, f"{hours} h"),
        (minutes, f"{minutes} min"),
        (seconds, f"{seconds} s"),
    ]
    return " ".join([words for count, words in units if count][:2]) or "less than 1 s"


# ------------------------------------------------------------------------------------------------- the one that counts


def _grade(
    assignment: Assignment,
    exercise: AssignedExercise,
    student: str,
    submitted: Sequence[ClassSubmission],
    results: Mapping[str, Result],
) -> Grade:
    ordered = sorted(submitted, key=lambda submission: submission.number)
    attempts = tuple(_attempt(assignment, exercise, one, results.get(one.key)) for one in ordered)
    if not attempts:
        return Grade(student, exercise.name, exercise.points, "missing", 0.0, notes=("Nothing was submitted.",))
    chosen = _chosen(assignment.counts, attempts)
    return Grade(
        student, exercise.name, exercise.points, chosen.state, chosen.points, chosen, attempts,
        notes=tuple(_notes(assignment, exercise, chosen, attempts)),
    )  # fmt: skip


def _chosen(counts: str, attempts: Sequence[Attempt]) -> Attempt:
    """The attempt that counts; one that is too late only if all are. Of equally good ones the earliest is the best."""
    allowed = [attempt for attempt in attempts if not attempt.lateness.too_late] or attempts
    if counts == "best":
        return max(allowed, key=lambda attempt: -1.0 if attempt.points is None else attempt.points)
    return allowed[0 if counts == "first" else -1]


def _notes(
    assignment: Assignment, exercise: AssignedExercise, chosen: Attempt, attempts: Sequence[Attempt]
) -> Iterable[str]:
    if chosen.state in OPEN:
        yield f"Open: {OPEN[chosen.state]}."
    if assignment.deadline is not None and not chosen.lateness.known:
        yield MARKED_LATE if chosen.submission.marked_late else NO_TIME
    late = [one for one in attempts if one.lateness.too_late and one is not chosen]
    if late:
        yield f"{counted(len(late), 'submission')} after this one {'was' if len(late) == 1 else 'were'} too late."
    others = [one for one in attempts if one.points is None and one is not chosen]
    if assignment.counts == "best" and others and chosen.points is not None and chosen.points < exercise.points:
        yield f"{counted(len(others), 'submission')} without a result: the points may rise."


def _overridden(grade: Grade, override: Override | None) -> Grade:
    """The grade with the teacher's decision, which may be about an exercise that was not submitted."""
    if override is None:
        return grade
    notes = tuple(note for note in grade.notes if grade.attempt is None)
    return replace(grade, state="overridden", points=rounded(override.points), override=override, notes=notes)


# --------------------------------------------------------------------------------------------------------------- points


def rounded(points: float) -> float:
    """Points with two decimals; a half is rounded up, as people do."""
    return float(Decimal(repr(float(points))).quantize(Decimal("0.01"), ROUND_HALF_UP))


def number(points: float) -> str:
    """``80``, ``72.5``, ``33.33``."""
    return f"{points:.2f}".rstrip("0").rstrip(".")
