"""``grade NAME…``: find the files, choose the backends, grade in order, print."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import TYPE_CHECKING

from grader.catalog.courses import CourseExercise, built_in_course
from grader.catalog.exercises import Catalog
from grader.cli.course import find, load, of_a_file
from grader.cli.deadline import NONE_ENDED, Ended, begin, in_time
from grader.errors import UsageError
from grader.frozen import dataclass
from grader.grading.records import SourceTexts
from grader.grading.services import Task
from grader.output import print_json, print_line, print_text, screen, write_file
from grader.paths import PACKAGE
from grader.practice.moved import refuse_old
from grader.verdict import Prediction, Verdict

if TYPE_CHECKING:
    from grader.render.drawing import Point


@dataclass(frozen=True)
class GradeOptions:
    """The options of the grading command, as click passes them."""

    names: tuple[str, ...]
    file: Path | None = None
    solution: bool = False
    backend: str = "auto"
    device: int = 0
    seed: int | None = None
    timeout: float | None = None
    as_json: bool = False
    no_color: bool = False
    no_sandbox: bool = False
    no_record: bool = False
    junit: Path | None = None
    html: Path | None = None
    predictions: tuple[str, ...] = ()  # COUNTER=VALUE
    variant: str | None = None  # None: the one that the file names
    watched: bool = False  # called by `grade watch`, which grades again at each save
    courses: tuple[Path, ...] = ()


@dataclass(frozen=True)
class GradedTask:
    """A task with its verdict, and the texts that were graded: the files may have changed since."""

    task: Task
    verdict: Verdict
    texts: SourceTexts

    @property
    def text(self) -> str:
        """The kernel's text, for the excerpt."""
        return self.texts.shown(self.task.path)

    @property
    def beside(self) -> dict[str, str]:
        """The host file's text by its name, for excerpts at its findings."""
        path = self.task.host_file
        return {} if path is None else {path.name: self.texts.shown(path)}


def grade_all(options: GradeOptions) -> int:
    """Grade every name in order; return the largest exit code. All names are resolved before the first is graded."""
    return in_time(partial(grade_here, options), as_json=options.as_json)


def grade_here(options: GradeOptions, ended: Ended = NONE_ENDED) -> int:
    """As `grade_all`, in this process; ``ended`` are the gradings that had to be ended before, with their process."""
    started = perf_counter()
    catalog = load(options.courses)
    tasks = tasks_of(catalog, options)
    predictions = _predictions(tasks, options)
    if not options.as_json:
        Thread(target=_import_the_rest, daemon=True).start()
    runs = []
    for run in _graded(catalog, tasks, predictions, options, ended):
        runs.append(run)
        if not options.as_json:
            _print_report(run, options, last=len(runs) == len(tasks))
    verdicts = [run.verdict for run in runs]
    if options.as_json:
        from grader.render.json import run_document, versions

        print_json(run_document(verdicts, versions=versions(), elapsed_s=perf_counter() - started))
    if options.junit is not None:
        from grader.render.junit import to_junit

        write_file(options.junit, to_junit(verdicts, timestamp=datetime.now(UTC).isoformat(timespec="seconds")))
        print_line(f"The results are in {options.junit}.", to_stderr=True)
    if options.html is not None:
        write_file(options.html, _page(catalog, runs))
        print_line(f"The page is in {options.html}: open it in a browser.", to_stderr=True)
    return max(verdict.exit_code for verdict in verdicts)


def _import_the_rest() -> None:
    """Import rich and the database while the children work."""
    for name in ("grader.render.terminal", "rich.console", "rich.table", "grader.practice.progress", "sqlite3"):
        import_module(name)


# ------------------------------------------------------------------------------------------------------------ the files


def tasks_of(catalog: Catalog, options: GradeOptions) -> list[Task]:
    """The exercise and the file of every name. Raises UsageError for an unknown name or a missing file."""
    if options.file is not None and len(options.names) > 1:
        raise UsageError(
            "--file names one file, but there are several exercises", code="file_for_several",
            hint="grade them one by one, or omit --file: ./NAME.cu is graded for each NAME",
        )  # fmt: skip
    tasks = [_task(catalog, name, options) for name in options.names]
    for task in tasks if not options.solution else ():
        refuse_old(catalog, task.entry, task.path, task.host_file)
    return tasks


def _task(catalog: Catalog, name: str, options: GradeOptions) -> Task:
    """One name's task. ``vector_add.cu``, which the Tab key completes, names the file and the exercise."""
    if "/" not in name and not name.endswith((".cu", HOST_ENDING)):
        named = _form(find(catalog, name), options)
        return _of_file(named, file_for(named, file=options.file, solution=options.solution))
    path = Path(name)
    entry = of_a_file(catalog, Path(path.name))
    if entry is None:
        catalog.refuse_old_name(path.stem.removesuffix("_host"))
    if entry is not None and path.is_file() and options.file is None and not options.solution:
        return _of_file(_form(entry, options), path)
    if path.exists():
        exercise = (catalog.copied_in(path) or "NAME") if entry is None else entry.name
        hint = f"`grade {exercise} --file {shlex.quote(str(path))}` grades it for the exercise {exercise}"
        raise UsageError(f"{name!r} is a file, not the name of an exercise", code="file_as_name", hint=hint)
    hint = "`grade list` shows the exercises"
    if entry is not None:
        hint = f"`grade start {entry.name}` copies the stub here, and `grade {entry.name}` grades it"
    raise UsageError(f"there is no file {name!r}", code="file_as_name", hint=hint)


def _form(entry: CourseExercise, options: GradeOptions) -> CourseExercise:
    """The variant that was asked for. Raises UsageError if there is no such variant."""
    if options.variant is None:
        return entry
    from grader.catalog.variants import entry_with

    return entry_with(entry, options.variant)


HOST_ENDING = "_host.py"


def _of_file(entry: CourseExercise, path: Path) -> Task:
    """The task of one file: for a host exercise it may be the Python file, whose kernel is in the same folder."""
    if not (entry.exercise.host and path.suffix == ".py"):
        return Task(entry, path)
    kernels = [path.with_name(name) for name in (f"{path.stem.removesuffix('_host')}.cu", f"{entry.name}.cu")]
    beside = next((kernel for kernel in kernels if kernel.is_file()), None)
    if beside is None or not path.is_file():
        raise UsageError(
            f"there is no {kernels[-1].name} beside {path}" if path.is_file() else f"there is no file {path}",
            code="no_submission", hint=f"`grade start {entry.name}` copies the missing file into this folder",
        )  # fmt: skip
    return Task(entry, beside, path)


def file_for(entry: CourseExercise, *, file: Path | None = None, solution: bool = False) -> Path:
    """The file that these options name. Raises UsageError if there is none."""
    if file is not None and solution:
        raise UsageError(
            "--file and --solution cannot be used together", code="file_and_solution", hint="use one of them"
        )
    if file is not None:
        return file
    if solution:
        if entry.solution is None:
            message = f"the course has no solution of {entry.name}"
            raise UsageError(message, code="no_solution", hint="grade your own file")
        return entry.solution
    here = Path(f"{entry.name}.cu")
    if here.exists() or here.is_symlink():
        return here
    host = Path(f"{entry.name}{HOST_ENDING}")
    only_host = entry.exercise.host and host.exists()  # grading the clone's stubs would ignore this file
    if in_a_clone(entry) and not only_host:
        return entry.stub
    kept = f", and keeps your ./{host}" if only_host else ""
    raise UsageError(
        f"there is no {here} in this folder", code="no_submission",
        hint=f"`grade start {entry.name}` copies the stub here{kept}; --file PATH grades another file",
    )  # fmt: skip


def in_a_clone(entry: CourseExercise) -> bool:
    """Whether the user may edit the stub: it is not the copy inside an installed package."""
    packaged = PACKAGE / "_course"
    return entry.stub.is_file() and not (entry.course == built_in_course() and packaged.is_dir())


# ---------------------------------------------------------------------------------------------------------- in order


def _predictions(tasks: Sequence[Task], options: GradeOptions) -> tuple[Prediction, ...]:
    """What the user says will be counted. Raises UsageError for what the exercise cannot have."""
    if not options.predictions:
        return ()
    from grader.grading.predictions import read_predictions, split

    if len(tasks) > 1:
        raise UsageError(
            "--predict is for one exercise, but there are several", code="bad_prediction",
            hint="grade them one by one",
        )  # fmt: skip
    return read_predictions(map(split, options.predictions), tasks[0].entry)


def _graded(
    catalog: Catalog, tasks: Sequence[Task], predictions: Sequence[Prediction], options: GradeOptions, ended: Ended
) -> Iterator[GradedTask]:
    from grader.backends import starting
    from grader.gpus.detect import is_loaded
    from grader.gpus.models import simulable

    # Start the first exercise's children early, when only the presence of a GPU driver is known.
    first = tasks[0].entry.exercise
    if not (options.no_sandbox or first.host):  # a host exercise needs other children
        gpu = options.device if options.backend != "sim" and is_loaded() else None
        starting.start_early(simulator=options.backend != "gpu" and simulable(first.requires), gpu=gpu)
    try:
        yield from _in_order(catalog, tasks, predictions, options, ended)
    finally:
        starting.end_early()


def _in_order(
    catalog: Catalog, tasks: Sequence[Task], predictions: Sequence[Prediction], options: GradeOptions, ended: Ended
) -> Iterator[GradedTask]:
    from grader.grading.advice import is_untouched
    from grader.grading.grade import grade, not_graded
    from grader.grading.services import Hardware
    from grader.output import waiting
    from grader.practice.history import next_after, recorder

    hardware = Hardware.found(options.backend, options.device)
    done = max(ended, default=0)  # of these the process before has printed the reports, and recorded the verdicts
    collects = options.as_json or options.junit is not None or options.html is not None
    for number, task in enumerate(tasks):
        if number < done and not collects:
            continue
        begin(number)
        plain = catalog.find(task.entry.name)  # a variant's entry is in a folder of the cache
        request = hardware.request(
            task, seed=options.seed, timeout_s=options.timeout, sandbox=not options.no_sandbox,
            watched=options.watched, next_exercise=partial(next_after, catalog, plain),
        )  # fmt: skip
        record = recorder(plain, task.path)
        with waiting(task.entry.name, quiet=options.as_json) as show_step:
            verdict = not_graded(request, ended[number]) if number in ended else grade(replace(request, tell=show_step))
        if predictions:
            from grader.grading.predictions import compared

            verdict = replace(verdict, predictions=compared(predictions, task.entry, verdict))
        shown = verdict
        # Warnings about unused variables in a stub help nobody; those of a stub with a bug lead to it.
        if is_untouched(request) and not request.exercise.answers:
            errors = tuple(diagnostic for diagnostic in verdict.diagnostics if diagnostic.severity == "error")
            shown = replace(verdict, diagnostics=errors)
        try:
            yield GradedTask(task, shown, request.submission.texts)
        finally:  # after the report, which must not wait for the disk
            if not (options.solution or options.no_record or number < done):
                record(verdict)


# -------------------------------------------------------------------------------------------------------------- reports


def _print_report(run: GradedTask, options: GradeOptions, *, last: bool) -> None:
    from grader.render.terminal import to_terminal

    shown = screen(no_color=options.no_color)
    report = to_terminal(
        run.verdict, run.text, beside=run.beside, graded=_which_file(run.task, options),
        width=shown.width, color=shown.color, unicode=shown.unicode,
    )  # fmt: skip
    print_text(report if last else report + "\n")


def _which_file(task: Task, options: GradeOptions) -> str:
    """A remark if the course's own stub is graded, because the user has no file; "" otherwise."""
    from grader.grading.advice import shown

    if options.file is not None or task.path != task.entry.stub:
        return ""
    return f"{shown(task.path)} (there is no ./{task.path.name} here)"


def _page(catalog: Catalog, runs: Sequence[GradedTask]) -> str:
    from grader.render.html import GradedPage, to_html
    from grader.render.json import versions

    graded = []
    for run in runs:
        entry = run.task.entry
        points = ladder_points(catalog, entry, run.verdict)
        graded.append(GradedPage(run.verdict, run.text, entry.exercise.idea, points, run.beside))
    return to_html(graded, versions=versions())


def ladder_points(catalog: Catalog, entry: CourseExercise, verdict: Verdict) -> tuple[Point, ...]:
    """The user's best runs of the other steps of this ladder, on the GPU of this run, as points of the roofline.

    All steps do the same work, so a step's point differs from this run's only in its rate.
    """
    measured = verdict.measured
    if measured is None or measured.roof is None or not measured.fraction_of_peak or verdict.device is None:
        return ()
    from grader.practice.history import keys_of, progress
    from grader.practice.standings import best_fractions
    from grader.render.drawing import Point

    best = best_fractions(progress().runs(), verdict.device)
    unit = measured.roof.achieved / measured.fraction_of_peak
    others = [step for step in catalog.ladder(entry) if step.name != entry.name]
    reached = {step.name: max(best.get(key, 0.0) for key in keys_of(step)) for step in others}
    return tuple(Point(name, measured.roof.intensity, most * unit) for name, most in reached.items() if most)
