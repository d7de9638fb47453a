"""``grade class run``, ``status`` and ``override``: grading a class, with a live table.

What is shown is made from records by pure functions: `table_of_run` of `Watched`, `summary` of results.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.catalog.exercises import Catalog
from grader.classroom import key
from grader.classroom.folder import read_class
from grader.classroom.records import ClassRecord, ClassSubmission, Override, Result, Student
from grader.classroom.run import NEEDS_A_TEACHER, SET_ASIDE, ClassRun, TaskMaker, Watched, basis_of
from grader.classroom.store import RunLock, Store
from grader.cli.course import find, load
from grader.errors import Unsupported, UsageError
from grader.expressions import did_you_mean
from grader.frozen import dataclass
from grader.output import print_json, print_line, say
from grader.text import counted, listed, safe

if TYPE_CHECKING:
    from rich.console import RenderableType

    from grader.classroom.engines.base import Engine
    from grader.render.classroom.figures import Task

STOPPED = {signal.SIGINT: 130, signal.SIGTERM: 143}
SCHEMA = "warpgrade/class-run/1"
LAST = 5  # results in the live table
IDS = 12  # in a list


@dataclass(frozen=True)
class RunOptions:
    """The options of ``grade class run``, as click passes them."""

    folder: Path
    jobs: int | None = None
    student: str | None = None
    exercise: str | None = None
    workers: int | None = None
    scheduler: str | None = None
    slurm: Path | None = None
    again: bool = False
    mixed: bool = False
    no_sandbox: bool = False
    as_json: bool = False
    courses: tuple[Path, ...] = ()


def run(**values: Any) -> int:
    """Grade what has no result; 0 when nothing is left."""
    from grader.cli.classroom_report import COLLECT

    options = RunOptions(**values)
    catalog = load(options.courses)
    record = read_class(options.folder, options.courses)
    if not record.submissions:
        hint = COLLECT.format(folder=options.folder)
        raise UsageError("no submissions were collected yet", code="nothing_collected", hint=hint)
    chosen = selected(record, options.student, options.exercise)
    _require_sandbox(options)
    with RunLock(options.folder), Store.open(options.folder) as store, _stops() as stopped:
        waiting = _waiting(store, catalog, record, chosen, options)
        started, before = time.monotonic(), len(store.graded())
        if waiting:
            with _engine(options, record) as engine, _view(record, engine, options) as told:
                _grade(store, engine, catalog, record, waiting, options, told, stopped)
        document = summary(record, chosen, store, len(store.graded()) - before, time.monotonic() - started)
    left = document["left"]
    if options.as_json:
        print_json(document)
    else:
        _print_summary(document, options.folder)
    return STOPPED[stopped[0]] if left and stopped else 0


def _grade(
    store: Store, engine: Engine, catalog: Catalog, record: ClassRecord, waiting: Sequence[ClassSubmission],
    options: RunOptions, told: Callable[[Watched, Result | None], None], stopped: Sequence[signal.Signals],
) -> None:  # fmt: skip
    secret = key.assignment_key(key.read_key(options.folder), record.assignment.name)
    maker = TaskMaker(
        options.folder, record.assignment, secret, _forms(catalog, record), _gpus(catalog, record, engine),
        tuple(str(course.resolve()) for course in options.courses), not options.no_sandbox,
    )  # fmt: skip
    grading = ClassRun(
        store, engine, maker, basis_of(record.assignment, catalog, secret), waiting,
        lambda result: told(grading.watched, result),
    )  # fmt: skip
    grading.run(lambda: bool(stopped))


def _waiting(
    store: Store, catalog: Catalog, record: ClassRecord, chosen: Sequence[ClassSubmission], options: RunOptions
) -> list[ClassSubmission]:
    """What is to be graded. Raises UsageError if the stored results cannot be compared with new ones."""
    secret = key.assignment_key(key.read_key(options.folder), record.assignment.name)
    store.begin(
        basis_of(record.assignment, catalog, secret),
        mixed=options.mixed,
        again=[submission.key for submission in chosen] if options.again else (),
    )
    graded = store.graded()
    return [submission for submission in chosen if submission.key not in graded]


def selected(record: ClassRecord, student: str | None, exercise: str | None) -> list[ClassSubmission]:
    """The submissions of assigned exercises, of one student or one exercise. Raises UsageError for an unknown one."""
    assigned = [one.name for one in record.assignment.exercises]
    if student is not None and student not in {one.student for one in record.submissions} | {
        one.id for one in record.roster
    }:
        hint = _meant(record, student)
        raise UsageError(f"this class has no student {student!r}", code="unknown_student", hint=hint)
    if exercise is not None and exercise not in assigned:
        hint = did_you_mean(exercise, assigned) or f"the assignment has {listed(assigned)}"
        raise UsageError(f"this class has no exercise {exercise!r}", code="unknown_exercise", hint=hint)
    unique = {submission.key: submission for submission in record.submissions}
    return [
        one
        for one in unique.values()
        if one.exercise in assigned and student in (None, one.student) and exercise in (None, one.exercise)
    ]


def _meant(record: ClassRecord, word: str) -> str:
    """Which id may be meant: by a similar id, a name, or what is before an @."""
    from grader.classroom.collect.people import People

    known = {one.id: one for one in record.roster}
    others = sorted({one.student for one in record.submissions} - known.keys())
    if near := People([*known.values(), *map(Student, others)]).near(word):
        return f"did you mean {' or '.join(near)}? Students are named by their id"
    if near_id := did_you_mean(word, [*known, *others]):
        return near_id
    return "roster.csv has the ids" if known else f"submissions are of {listed(others[:IDS]) or 'nobody'}"


def _require_sandbox(options: RunOptions) -> None:
    from grader.classroom.worker import NO_LANDLOCK, NO_LANDLOCK_HINT
    from grader.process.sandbox import available

    if not options.no_sandbox and available() == "none":
        raise Unsupported(NO_LANDLOCK, hint=NO_LANDLOCK_HINT)


def _engine(options: RunOptions, record: ClassRecord) -> Engine:
    """Where the options say that the class is graded. Raises UsageError for options that do not go together."""
    given = {
        "--jobs": options.jobs,
        "--workers": options.workers,
        "--scheduler": options.scheduler,
        "--slurm": options.slurm,
    }
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise UsageError(f"{listed(named)} cannot be used together", code="several_engines", hint="use one of them")
    backend = record.assignment.backend
    if options.scheduler is not None or options.slurm is not None:
        from grader.classroom.engines import dask

        return (
            dask.on_slurm(options.slurm, backend)
            if options.slurm
            else dask.at_scheduler(options.scheduler or "", backend)
        )
    from grader.classroom.engines.local import LocalEngine, processors, visible_gpus

    gpus = visible_gpus(backend)
    if backend == "gpu" and not gpus:
        hint = (
            'grade where a GPU is, or write backend = "sim" into assignment.toml; `grade doctor` says what is missing'
        )
        raise Unsupported("the assignment's backend is gpu, and this machine has no GPU that can be used", hint=hint)
    if options.workers is not None:
        from grader.classroom.engines import dask

        return dask.on_this_machine(options.workers, gpus)
    return LocalEngine(options.jobs or processors(), gpus)


def _gpus(catalog: Catalog, record: ClassRecord, engine: Engine) -> Mapping[str, int]:
    """How many GPUs a task of each exercise has for itself."""
    if not engine.uses_gpus:
        return {}
    names = [exercise.name for exercise in record.assignment.exercises]
    return {name: max(1, find(catalog, name).exercise.gpus) for name in names}


def _forms(catalog: Catalog, record: ClassRecord) -> Mapping[str, Sequence[str]]:
    from grader.catalog.variants import forms

    entries = [find(catalog, exercise.name) for exercise in record.assignment.exercises]
    return {entry.name: forms(entry.exercise) for entry in entries if entry.exercise.variants}


@contextmanager
def _stops() -> Iterator[list[signal.Signals]]:
    """Ctrl-C and SIGTERM end the run after what is being stored; a second Ctrl-C ends the process at once."""
    got: list[signal.Signals] = []

    def stop(number: int, frame: object) -> None:
        if got:
            os._exit(STOPPED[got[0]])
        got.append(signal.Signals(number))

    before = {number: signal.signal(number, stop) for number in STOPPED}
    try:
        yield got
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ------------------------------------------------------------------------------------------------------------- the view


@contextmanager
def _view(
    record: ClassRecord, engine: Engine, options: RunOptions
) -> Iterator[Callable[[Watched, Result | None], None]]:
    """A function that shows the run: a live table on a terminal, else a line for each result."""
    submissions = {submission.key: submission for submission in record.submissions}
    most = {exercise.name: exercise.points for exercise in record.assignment.exercises}

    def words(result: Result) -> str:
        submission = submissions[result.submission]
        return result_words(result, submission, most[submission.exercise])

    if options.as_json:
        yield lambda watched, result: None
    elif not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        print_line(f"{record.assignment.title}: {engine.words}")
        yield lambda watched, result: _print_result(watched, result, words)
    else:
        from rich.console import Console
        from rich.live import Live

        started = time.monotonic()
        last: deque[str] = deque(maxlen=LAST)
        with Live(console=Console(highlight=False), auto_refresh=False) as live:

            def show(watched: Watched, result: Result | None) -> None:
                if result is not None:
                    last.append(words(result))
                now = datetime.now().astimezone()
                title = f"{record.assignment.title}, {engine.words}"
                table = table_of_run(title, watched, list(last), time.monotonic() - started, now)
                live.update(table, refresh=True)

            yield show


def _print_result(watched: Watched, result: Result | None, words: Callable[[Result], str]) -> None:
    if result is not None:
        print_line(f"{watched.done:>{len(str(watched.total))}}/{watched.total}  {words(result)}")


def result_words(result: Result, submission: ClassSubmission, most: float) -> str:
    """``ada vector_add  pass, 100 of 100 points (fast not graded)  1.4 s``; ``most`` are the assignment's points."""
    from grader.classroom.gradebook import number, scaled

    earned = scaled(result, most)
    stages = result.run.get("stages") or ()
    left_out = [str(stage["name"]) for stage in stages if stage["status"] == "not_graded"]
    points = "" if earned is None else f", {number(earned)} of {number(most)} points"
    points += f" ({listed(left_out)} not graded)" if points and left_out else ""
    seconds = (result.ended - result.started).total_seconds()
    attempts = f", attempt {result.attempts}" if result.attempts > 1 else ""
    return f"{submission.student} {submission.exercise}  {result.verdict}{points}  {seconds:.1f} s{attempts}"


def table_of_run(title: str, watched: Watched, last: Sequence[str], elapsed_s: float, now: datetime) -> RenderableType:
    """The live table: progress, rate, time left, verdicts, what is in flight, and the last results."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    flying = Table.grid(padding=(0, 2))
    for one in watched.in_flight:
        seconds = f"{(now - one.since).total_seconds():.0f} s"
        attempt = f"attempt {one.attempt}" if one.attempt > 1 else ""
        cells = (one.submission.student, one.submission.exercise, seconds, attempt)
        flying.add_row(*(Text(safe(cell)) for cell in cells))
    bar = Table.grid(padding=(0, 2))
    bar.add_row(ProgressBar(total=watched.total, completed=watched.done, width=30), Text(pace(watched, elapsed_s)))
    heading = Text(safe(title), style="bold")
    died = [f"{counted(watched.deaths, 'worker')} died"] if watched.deaths else []
    words = Text("; ".join([verdict_words(watched.verdicts), *died]))
    parts: list[RenderableType] = [heading, bar, words, Text("\nin flight", style="bold"), flying]
    parts += [Text("\nlast", style="bold"), *(Text(safe(line)) for line in reversed(last))]
    return Group(*parts)


def pace(watched: Watched, elapsed_s: float) -> str:
    """``57 of 200 graded, 26 a minute, about 6 min left``."""
    words = f"{watched.done} of {watched.total} graded"
    if watched.done and elapsed_s > 0:
        rate = 60 * watched.done / elapsed_s
        words += f", {rate:.{0 if rate >= 10 else 1}f} a minute"
        left_s = (watched.total - watched.done) * elapsed_s / watched.done
        words += f", about {duration(left_s)} left" if left_s else ""
    return words


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def verdict_words(verdicts: Mapping[str, int]) -> str:
    """``31 pass, 12 wrong, 2 timeout``, the most frequent first."""
    ordered = sorted(verdicts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {word}" for word, count in ordered)


# ---------------------------------------------------------------------------------------------------------- the summary


def _of(submissions: Sequence[ClassSubmission], results: Sequence[Result]) -> list[Result]:
    keys = {submission.key for submission in submissions}
    return [result for result in results if result.submission in keys]


ADVICE = {
    "inconclusive": "its time could not be measured well enough: grade it again on a quiet machine",
    "error": "the grader failed: the reason stands below",
    SET_ASIDE: "it ended the worker every time: read the file before you grade it again",
    "unsupported": "this machine cannot grade it: `grade doctor` says what is missing",
}
"""What a teacher reads of results that are not about the submission."""


def summary(
    record: ClassRecord, chosen: Sequence[ClassSubmission], store: Store, graded_now: int, elapsed_s: float
) -> dict[str, Any]:
    """What a run or `status` says, as one document. ``left`` also counts ``again``, what is to be graded again."""
    results, graded = _of(chosen, store.results()), store.graded()
    again = sum(result.submission not in graded for result in results)
    named = {submission.key: submission for submission in chosen}
    attention = [
        {
            "student": named[result.submission].student,
            "exercise": named[result.submission].exercise,
            "verdict": result.verdict,
            "reason": next((found["message"] for found in result.run.get("diagnostics", ())), ""),
            "advice": ADVICE[result.verdict],
        }
        for result in results
        if result.verdict in NEEDS_A_TEACHER
    ]
    return {
        "schema": SCHEMA,
        "assignment": record.assignment.name,
        "submissions": len(named),
        "graded": len(results),
        "left": sum(submission not in graded for submission in named),
        "again": again,
        "graded_now": graded_now,
        "elapsed_s": round(elapsed_s, 3),
        "verdicts": dict(sorted(Counter(result.verdict for result in results).items())),
        "for_the_teacher": attention,
        "remarks": remarks(results),
    }


def remarks(results: Sequence[Result]) -> list[str]:
    """What makes results hard to compare: unequal GPUs, several versions, no sandbox."""
    gpus = sorted({result.machine["gpu"] for result in results if result.machine.get("gpu")})
    some = any(result.machine.get("gpu") for result in results)
    without = sum("gpu" in result.machine and not result.machine["gpu"] for result in results)
    versions = sorted({f"{r.versions.get('warpgrade')}, course {r.versions.get('course')}" for r in results})
    open_ = sum(result.sandbox == "none" for result in results)
    said = (
        (len(gpus) > 1, f"The class was graded on unequal GPUs, so times do not compare: {listed(gpus)}."),
        (some and without > 0, f"{counted(without, 'result')} could not use a GPU, and others did."),
        (len(versions) > 1, f"The results are of several versions: {'; '.join(versions)}."),
        (open_ > 0, f"{counted(open_, 'submission')} ran without a sandbox."),
    )
    return [sentence for is_so, sentence in said if is_so]


def _print_summary(document: Mapping[str, Any], folder: Path) -> None:
    print_line(f"{document['graded']} of {counted(document['submissions'], 'submission')} graded: "
               f"{verdict_words(document['verdicts']) or 'none'}")  # fmt: skip
    for one in document["for_the_teacher"]:
        print_line(f"  {one['student']} {one['exercise']}: {one['verdict']}, {one['advice']}")
        if one["reason"]:
            print_line(f"      {one['reason']}")
    for sentence in document["remarks"]:
        say(sentence)
    if document["for_the_teacher"]:
        say(AGAIN.format(folder=folder))
    if document["again"]:
        say(
            f"{document['again']} to grade again: `grade class run {folder}` continues. "
            "Until then the older results count."
        )
    if ungraded := document["left"] - document["again"]:
        left = counted(ungraded, "submission")
        say(f"{left} left: `grade class run {folder}` grades what has no result, and nothing twice.")


AGAIN = (
    "To grade one again: `grade class run {folder} --again --student NAME --exercise NAME`. To decide yourself: "
    "`grade class override {folder} NAME EXERCISE --points N --reason TEXT`."
)


def status(folder: Path, as_json: bool, courses: tuple[Path, ...]) -> int:
    """Say what is graded, what is left, what needs the teacher, and what the teacher decided."""
    from grader.classroom.gradebook import gradebook
    from grader.cli.classroom_report import NOTHING_COLLECTED, whole_record, with_unchanged
    from grader.render.classroom.figures import about_people

    record = with_unchanged(folder, whole_record(folder, courses), load(courses))
    chosen = selected(record, None, None)
    with Store.open(folder, make=False) as store:
        document = summary(record, chosen, store, 0, 0.0)
    tasks = about_people(gradebook(record)) if record.submissions else ()
    document["overrides"] = len(record.overrides)
    document["decisions"] = [
        {"student": one.student, "exercise": one.exercise, "points": one.points, "reason": one.reason}
        for one in record.overrides
    ]
    document["about_people"] = [{"what": task.what, "whom": list(task.whom)} for task in tasks]
    if as_json:
        print_json(document)
        return 0
    print_line(record.assignment.title)
    if not record.submissions:
        say(NOTHING_COLLECTED.format(folder=folder))
        return 0
    _print_summary(document, folder)
    _print_by_exercise(record, chosen)
    for task in tasks:
        say(task_words(task))
    _print_decisions(record.overrides, folder)
    return 0


def task_words(task: Task) -> str:
    """``2 students submitted nothing: Ada; Bob``."""
    more = f"; and {len(task.whom) - IDS} more" if len(task.whom) > IDS else ""
    return f"{task.what}: {'; '.join(map(safe, task.whom[:IDS]))}{more}" if task.named else task.what


def _print_by_exercise(record: ClassRecord, chosen: Sequence[ClassSubmission]) -> None:
    results = {result.submission: result for result in record.results}
    width = max(len(exercise.name) for exercise in record.assignment.exercises)
    for exercise in record.assignment.exercises:
        mine = [submission for submission in chosen if submission.exercise == exercise.name]
        done = [results[submission.key] for submission in mine if submission.key in results]
        words = verdict_words(Counter(result.verdict for result in done))
        print_line(f"  {exercise.name:<{width}}  {len(done)} of {len(mine)}  {words}".rstrip())


def _print_decisions(overrides: Sequence[Override], folder: Path) -> None:
    if not overrides:
        return
    print_line(f"{counted(len(overrides), 'override')} by the teacher")
    for one in overrides:
        print_line(f"  {safe(one.student)} {one.exercise}: {one.points:g} points, {safe(one.reason)}")
    say(f"`grade class override {folder} NAME EXERCISE --undo` takes one back.")


def override(
    folder: Path, student: str, exercise: str, points: float | None, reason: str, undo: bool, courses: tuple[Path, ...]
) -> int:
    """Store a teacher's decision. Raises UsageError for an unknown student or exercise, or too many points."""
    record = read_class(folder, courses)
    selected(record, student, exercise)
    most = next(one.points for one in record.assignment.exercises if one.name == exercise)
    if undo:
        return _take_back(folder, student, exercise, points, reason)
    if points is None or not reason.strip():
        missing = "--points" if points is None else "--reason"
        hint = "the reason stands in the gradebook; `grade class override --help` shows the options"
        raise UsageError(f"{missing} is missing", code="no_points" if points is None else "no_reason", hint=hint)
    if not 0 <= points <= most:
        hint = "assignment.toml says how many points an exercise has"
        raise UsageError(f"{exercise} has from 0 to {most:g} points, not {points:g}", code="bad_points", hint=hint)
    with Store.open(folder) as store:
        store.add_override(Override(student, exercise, points, reason.strip(), datetime.now(UTC)))
    print_line(f"{student} has {points:g} of {most:g} points for {exercise}: {reason.strip()}")
    return 0


def _take_back(folder: Path, student: str, exercise: str, points: float | None, reason: str) -> int:
    if points is not None:
        raise UsageError("--undo and --points cannot be used together", code="usage", hint="use one of them")
    with Store.open(folder) as store:
        if (student, exercise) not in {(one.student, one.exercise) for one in store.overrides()}:
            hint = f"`grade class status {folder}` lists the overrides"
            raise UsageError(f"{student} has no override for {exercise}", code="no_override", hint=hint)
        store.take_back_override(student, exercise, reason.strip(), datetime.now(UTC))
    print_line(f"The override of {student} for {exercise} is taken back: the points of the grading count again.")
    return 0
