"""``grade class run``: grading a class, with a live table, which `table_of_run` makes of `Watched`."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.catalog.exercises import Catalog
from grader.classroom import key
from grader.classroom.folder import read_class
from grader.classroom.records import ClassRecord, ClassSubmission, Result
from grader.classroom.run import ClassRun, TaskMaker, Watched, basis_of
from grader.classroom.store import RunLock, Store
from grader.cli.classroom_status import print_summary, selected, summary, verdict_words
from grader.cli.course import find, load
from grader.errors import Unsupported, UsageError
from grader.frozen import dataclass
from grader.output import print_json, print_line
from grader.text import counted, listed, safe

if TYPE_CHECKING:
    from rich.console import RenderableType

    from grader.classroom.engines.base import Engine

STOPPED = {signal.SIGINT: 130, signal.SIGTERM: 143}
LAST = 5  # results in the live table


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
        print_summary(document, options.folder)
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
