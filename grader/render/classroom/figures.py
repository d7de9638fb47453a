"""The figures of the teacher's page: distributions, what students stumbled over, what needs the teacher. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from statistics import fmean, median
from typing import Any

from grader.classroom.gradebook import OPEN, Attempt, Grade, Gradebook, Row
from grader.classroom.records import Result
from grader.frozen import dataclass
from grader.text import bytes_words, counted, duration

BINS = 10
FLOOD_BYTES = 60_000
PEERS = 5  # so many other times on the same GPU say what is usual
FAR_FASTER = 3.0
SLOWEST_SHOWN = 8
SLOWER = 1.25  # than the median: less is no reason to look
STUMBLES_SHOWN = 12
FEW = 5  # submissions without a time that are named: often it is all of them


@dataclass(frozen=True)
class ExerciseFigures:
    """An exercise's points as a distribution: ``bins`` are tenths of the maximum, full points in the last one."""

    name: str
    points: float
    bins: tuple[int, ...]
    verdicts: tuple[tuple[str, int], ...]  # of the submissions that count, the most frequent first
    students: int
    missing: int  # nothing was submitted; a teacher's decision changes points alone
    open: int
    full: int
    mean: float | None
    median: float | None


@dataclass(frozen=True)
class Stumble:
    """A finding, and how many students met it in any of their submissions."""

    exercise: str
    kind: str
    cause: str
    rule: str
    students: int
    example: str
    hint: str

    @property
    def words(self) -> str:
        """``race: missing barrier``."""
        return ": ".join(word.replace("_", " ") for word in (self.kind, self.cause) if word)


@dataclass(frozen=True)
class Timing:
    """A submission with the time of its kernel, or of its grading if nothing was timed."""

    row: Row
    exercise: str
    number: int
    seconds: float
    usual_s: float
    of_kernel: bool


@dataclass(frozen=True)
class Look:
    """A submission that is worth a look, and why."""

    row: Row
    exercise: str
    number: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    """Something that only the teacher can settle: what, for whom, and what to do."""

    what: str
    to_do: str
    whom: tuple[str, ...] = field(default=())  # student and exercise
    named: bool = True  # False: the number says enough


def exercise_figures(book: Gradebook) -> tuple[ExerciseFigures, ...]:
    """The figures of each exercise, over the students of the roster."""
    known = [row for row in book.rows if row.known]
    return tuple(_figures([row.grades[at] for row in known]) for at in range(len(book.assignment.exercises)) if known)


def _figures(grades: Sequence[Grade]) -> ExerciseFigures:
    counting = [grade for grade in grades if grade.points is not None and grade.state != "missing"]
    parts = [(grade.points or 0.0) / grade.max_points for grade in counting]
    bins = Counter(min(BINS - 1, int(part * BINS + 1e-9)) for part in parts)
    verdicts = Counter(grade.verdict for grade in grades if grade.verdict)
    points = [grade.points or 0.0 for grade in counting]
    return ExerciseFigures(
        grades[0].exercise, grades[0].max_points, tuple(bins[at] for at in range(BINS)),
        tuple(sorted(verdicts.items(), key=lambda item: (-item[1], item[0]))), len(grades),
        sum(not grade.attempts for grade in grades), sum(grade.is_open for grade in grades),
        sum(part >= 1 for part in parts), fmean(points) if points else None, median(points) if points else None,
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------------- of all tries


def _attempts(book: Gradebook) -> Iterator[tuple[Row, Grade, Attempt, Result]]:
    """Every submission with a result."""
    for row in book.rows:
        for grade in row.grades:
            for attempt in grade.attempts:
                if attempt.result is not None:
                    yield row, grade, attempt, attempt.result


def _findings(result: Result) -> Sequence[Mapping[str, Any]]:
    """The findings that decide the verdict."""
    return [found for found in result.run.get("diagnostics") or () if found.get("severity") == "error"]


def stumbles(book: Gradebook) -> tuple[Stumble, ...]:
    """The most frequent findings, by exercise, kind, cause and rule; each student counts once."""
    students: dict[tuple[str, str, str, str], set[str]] = defaultdict(set)
    example: dict[tuple[str, str, str, str], Mapping[str, Any]] = {}
    for row, grade, _, result in _attempts(book):
        for found in _findings(result):
            kind, cause, rule = (str(found.get(name) or "") for name in ("kind", "cause", "rule"))
            students[grade.exercise, kind, cause, rule].add(row.student.id)
            example.setdefault((grade.exercise, kind, cause, rule), found)
    ordered = sorted(students, key=lambda key: (-len(students[key]), key))
    return tuple(
        Stumble(*key, len(students[key]), str(example[key].get("message") or ""), str(example[key].get("hint") or ""))
        for key in ordered[:STUMBLES_SHOWN]
    )


def slowest(book: Gradebook) -> tuple[Timing, ...]:
    """The submissions whose kernels took much longer than the exercise's median.

    Without a GPU no kernel has a time: then those whose grading took longest.
    """
    timings = _kernel_times(book)
    of_kernel = bool(timings)
    if not of_kernel:
        for row, grade, attempt, result in _attempts(book):
            seconds = (result.ended - result.started).total_seconds()
            timings[grade.exercise, ""].append((row, attempt.submission.number, seconds))
    found = [
        Timing(row, exercise, number, seconds, median(s for *_, s in group), of_kernel)
        for (exercise, _), group in timings.items()
        for row, number, seconds in group
        if seconds > SLOWER * median(s for *_, s in group)
    ]
    return tuple(sorted(found, key=lambda timing: -timing.seconds / (timing.usual_s or 1))[:SLOWEST_SHOWN])


Times = dict[tuple[str, str], list[tuple[Row, int, float]]]


def _kernel_times(book: Gradebook) -> Times:
    """The kernels' times by exercise and GPU."""
    times: Times = defaultdict(list)
    for row, grade, attempt, result in _attempts(book):
        measured = result.run.get("measured")
        if measured and measured.get("median_s"):
            key = grade.exercise, str(result.run.get("device") or "")
            times[key].append((row, attempt.submission.number, float(measured["median_s"])))
    return times


def worth_a_look(book: Gradebook) -> tuple[Look, ...]:
    """Submissions that cheat, touch what they must not, print floods, or are far faster than all others."""
    fast = {(row.student.id, exercise, number): words for row, exercise, number, words in _far_faster(book)}
    looks = []
    for row, grade, attempt, result in _attempts(book):
        number = attempt.submission.number
        reasons = [*_reasons(result), *filter(None, [fast.get((row.student.id, grade.exercise, number))])]
        if reasons:
            looks.append(Look(row, grade.exercise, number, tuple(reasons)))
    return tuple(looks)


def _reasons(result: Result) -> Iterator[str]:
    if result.verdict in ("cheat", "policy"):
        message = next((str(found.get("message") or "") for found in _findings(result)), "")
        yield f"The verdict is {result.verdict}{': ' if message else '.'}{message}"
    printed = len(str(result.run.get("printed") or ""))
    if printed >= FLOOD_BYTES or any(found.get("kind") == "print_limit" for found in _findings(result)):
        yield f"It prints a flood: {bytes_words(printed)} were kept."
    if result.verdict == "set_aside":
        yield "It ended several workers."


def _far_faster(book: Gradebook) -> Iterator[tuple[Row, str, int, str]]:
    for (exercise, _), group in _kernel_times(book).items():
        for row, number, seconds in group:
            others = [s for other, _, s in group if other.student.id != row.student.id]
            if len(others) >= PEERS and seconds * FAR_FASTER < median(others):
                usual = f"the median of {len(others)} others is {duration(median(others))}"
                yield row, exercise, number, f"Its kernel takes {duration(seconds)}; {usual}."


# ------------------------------------------------------------------------------------------- what needs the teacher

_AGAIN = "`grade class run FOLDER --again --student ID --exercise EXERCISE`"
_DECIDE = "`grade class override FOLDER ID EXERCISE --points N --reason TEXT`"
TO_DO: Mapping[str, str] = {
    "waiting": "`grade class run FOLDER` grades what has no result.",
    "inconclusive": f"Grade these again on a machine that does nothing else ({_AGAIN}), or decide yourself: {_DECIDE}.",
    "set_aside": f"Read the file before you grade it again ({_AGAIN}); or decide yourself: {_DECIDE}.",
    "error": f"`grade class status FOLDER` shows the message; the machine may lack something. Then {_AGAIN}.",
}


def tasks(book: Gradebook) -> tuple[Task, ...]:
    """What is left for the teacher, the most urgent first."""
    return tuple(task for task in (*_open(book), *about_people(book), *_unequal(book)) if task.whom or not task.to_do)


def _open(book: Gradebook) -> Iterator[Task]:
    for state, why in OPEN.items():
        whom = [_named(row, grade) for row in book.rows for grade in row.grades if grade.state == state]
        yield Task(f"{counted(len(whom), 'grade')} open: {why}", TO_DO[state], tuple(whom))


def about_people(book: Gradebook) -> tuple[Task, ...]:
    """Who is unknown, who is missing, and what is strange about submissions before they are graded."""
    return tuple(task for task in (*_missing(book), *_strange(book)) if task.whom)


def _missing(book: Gradebook) -> Iterator[Task]:
    """Students who submitted nothing or not everything, and those who submitted the stub."""
    gone = [(row, [grade for grade in row.grades if grade.state == "missing"]) for row in book.rows if row.known]
    nothing = tuple(row.student.name or row.student.id for row, grades in gone if len(grades) == len(row.grades))
    yield Task(f"{counted(len(nothing), 'student')} submitted nothing", _ASK, nothing)
    part = tuple(_named(row, grade) for row, grades in gone if len(grades) < len(row.grades) for grade in grades)
    yield Task(f"{counted(len(part), 'exercise')} missing of students who submitted others", _ASK, part)
    stubs = tuple(
        _named(row, grade)
        for row in book.rows
        for grade in row.grades
        if grade.attempt and grade.attempt.submission.key in book.unchanged
    )
    words = f"{counted(len(stubs), 'submission')} without a change to the stub"
    yield Task(words, "Was another file meant? Ask them, and collect again.", stubs)


_ASK = "They have 0 points for it. If it came another way, `grade class collect` adds it."


def _strange(book: Gradebook) -> Iterator[Task]:
    unknown = tuple(row.student.id for row in book.unknown)
    words = f"{counted(len(unknown), 'student')} not on the roster"
    yield Task(words, "Add them to roster.csv, or correct the name and collect again. Exports leave them out.", unknown)
    stray = tuple(f"{one.student}, {one.exercise}" for one in book.stray)
    words = f"{counted(len(stray), 'submission')} of exercises that are not assigned"
    yield Task(words, "Nothing is graded: was another exercise meant?", stray)
    marked, timeless = _timeless(book, marked=True), _timeless(book, marked=False)
    words = f"{counted(len(marked), 'submission')} marked as late, without a time"
    yield Task(words, f"The platform does not say by how much, so it costs nothing. {_TIMES}", marked)
    words = f"{counted(len(timeless), 'submission')} without a time"
    yield Task(words, f"They do not count as late. {_TIMES}", timeless, named=len(timeless) <= FEW)


_TIMES = f"`grade class collect` takes a CSV with times; or decide yourself: {_DECIDE}."


def _timeless(book: Gradebook, *, marked: bool) -> tuple[str, ...]:
    """The submissions that count and have no time: those that the platform marks as late, or the others."""
    return tuple(
        _named(row, grade)
        for row in book.rows
        for grade in row.grades
        if book.assignment.deadline and grade.attempt and not grade.attempt.lateness.known
        if grade.attempt.submission.marked_late == marked
    )


def _unequal(book: Gradebook) -> Iterator[Task]:
    """Results that cannot simply be compared: other GPUs, other versions, no sandbox."""
    results = [result for *_, result in _attempts(book)]
    gpus = sorted({result.machine["gpu"] for result in results if result.machine.get("gpu")})
    yield Task(
        "The times are of different GPUs", "Times of different GPUs cannot be compared; pass lines are of each GPU.",
        tuple(gpus) if len(gpus) > 1 else (),
    )  # fmt: skip
    missed = tuple(sorted({result.machine.get("host", "?") for result in results if result.machine.get("gpu") == ""}))
    yield Task(
        "Some results are without a GPU, and others are with one", "Their stages differ.", missed if gpus else ()
    )
    versions = sorted({f"{r.versions.get('warpgrade', '?')}, course {r.versions.get('course', '?')}" for r in results})
    yield Task(
        "The results are of different versions", "Grade the older ones again if it matters.",
        tuple(versions) if len(versions) > 1 else (),
    )  # fmt: skip
    open_ones = sum(result.sandbox == "none" for result in results)
    words = f"{counted(open_ones, 'submission')} ran without a sandbox"
    where = tuple(
        sorted({result.machine.get("host", "this machine") for result in results if result.sandbox == "none"})
    )
    yield Task(words, "The files of that machine could be read: keep the key elsewhere.", where)


def _named(row: Row, grade: Grade) -> str:
    return f"{row.student.name or row.student.id}, {grade.exercise}"
