"""``grade NAME…``: find the files, choose the backends, grade in order, print."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from grader.catalog import Catalog, CourseExercise, built_in_course
from grader.cli.course import find, load
from grader.cli.output import print_json, print_line, print_text, screen
from grader.errors import SubmissionError, UsageError
from grader.stages.background import in_background
from grader.verdict import Verdict


@dataclass(frozen=True)
class Options:
    """The grading command's options, as click hands them over."""

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
    courses: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Task:
    """One exercise and the file to grade for it; ``host`` is its host file where that is not the one beside it."""

    exercise: CourseExercise
    path: Path
    host: Path | None = None


def grade_all(options: Options) -> int:
    """Grade every name in order; return the largest exit code. Every name is understood before the first is graded."""
    started = perf_counter()
    catalog = load(options.courses)
    tasks = tasks_of(catalog, options)
    if not options.as_json:
        in_background(_import_the_rest)
    verdicts = []
    for task, verdict in _graded(catalog, tasks, options):
        verdicts.append(verdict)
        if not options.as_json:
            _print_report(task, verdict, options, last=len(verdicts) == len(tasks))
    if options.as_json:
        _print_document(verdicts, perf_counter() - started)
    if options.junit is not None:
        _write_junit(options.junit, verdicts)
        print_line(f"The results are in {options.junit}.", to_stderr=True)
    if options.html is not None:
        _write_html(options.html, catalog, tasks, verdicts)
        print_line(f"The page is in {options.html}: open it in a browser.", to_stderr=True)
    return max(verdict.exit_code for verdict in verdicts)


def tasks_of(catalog: Catalog, options: Options) -> list[Task]:
    """The exercise and the file of every name. Raises UsageError for a name or a file that is none."""
    if options.file is not None and len(options.names) > 1:
        raise UsageError(
            "--file names one file, but there are several exercises", code="file_for_several",
            hint="grade them one by one, or leave --file out: ./NAME.cu is graded for each NAME",
        )  # fmt: skip
    if options.file is not None and options.solution:
        raise UsageError("--file and --solution exclude each other", code="file_and_solution", hint="leave one out")
    return [_task(catalog, name, options) for name in options.names]


def _task(catalog: Catalog, name: str, options: Options) -> Task:
    """One name's task. ``vector_add.cu``, what the Tab key makes of it, is the file and the exercise of its name."""
    if "/" not in name and not name.endswith((".cu", HOST_ENDING)):
        one = find(catalog, name)
        return _of_file(one, file_for(one, options))
    path = Path(name)
    meant = next((one for one in catalog.exercises if path.name in _names(one)), None)
    if meant is not None and path.is_file() and options.file is None and not options.solution:
        return _of_file(meant, path)
    raise UsageError(
        f"{name!r} is a file, and an exercise is wanted" if path.exists() else f"there is no file {name!r}",
        code="file_as_name",
        hint=_how_to_grade(meant, path),
    )


HOST_ENDING = "_host.py"


def _names(one: CourseExercise) -> tuple[str, ...]:
    """What the exercise's files are called in a person's folder."""
    return (f"{one.name}.cu", f"{one.name}{HOST_ENDING}") if one.exercise.host else (f"{one.name}.cu",)


def _of_file(one: CourseExercise, path: Path) -> Task:
    """The task of one file: of a host exercise the Python file may be named, and the kernel beside it is meant."""
    if not (one.exercise.host and path.suffix == ".py"):
        return Task(one, path)
    kernels = [path.with_name(name) for name in (f"{path.stem.removesuffix('_host')}.cu", f"{one.name}.cu")]
    beside = next((kernel for kernel in kernels if kernel.is_file()), None)
    if beside is None or not path.is_file():
        raise UsageError(
            f"there is no {kernels[-1].name} beside {path}" if path.is_file() else f"there is no file {path}",
            code="no_submission", hint=f"`grade start {one.name}` copies both files into this folder",
        )  # fmt: skip
    return Task(one, beside, path)


def _how_to_grade(meant: CourseExercise | None, path: Path) -> str:
    if meant is not None and not path.exists():
        return f"`grade start {meant.name}` puts the stub here, and `grade {meant.name}` grades it"
    if not path.exists():
        return "`grade list` shows the exercises"
    name = "NAME" if meant is None else meant.name
    return f"`grade {name} --file {shlex.quote(str(path))}` grades it for the exercise {name}"


def file_for(one: CourseExercise, options: Options) -> Path:
    """The file that these options mean. Raises UsageError where there is none."""
    if options.file is not None:
        return options.file
    if options.solution:
        return _solution(one)
    here = Path(f"{one.name}.cu")
    if here.exists() or here.is_symlink():
        return here
    if in_a_clone(one):
        return one.stub
    raise UsageError(
        f"there is no {here} in this folder", code="no_submission",
        hint=f"`grade start {one.name}` puts the stub here; --file PATH grades a file elsewhere",
    )  # fmt: skip


def _solution(one: CourseExercise) -> Path:
    if one.solution is None:
        raise UsageError(f"the course has no solution of {one.name}", code="no_solution", hint="grade a file of yours")
    return one.solution


def in_a_clone(one: CourseExercise) -> bool:
    """Whether the stub is the person's own to edit: not the copy inside an installed package."""
    packaged = Path(__file__).resolve().parent.parent / "_course"
    return one.stub.is_file() and not (one.course == built_in_course() and packaged.is_dir())


def _graded(catalog: Catalog, tasks: Sequence[Task], options: Options) -> Iterator[tuple[Task, Verdict]]:
    from grader.cli.history import recorder
    from grader.cli.machinery import Machine
    from grader.cli.waiting import waiting
    from grader.stages import grade
    from grader.stages.advice import is_untouched

    machine = Machine.chosen(options.backend, options.device)
    for task in tasks:
        request = machine.request(catalog, task, options)
        record = recorder(task.exercise, task.path)
        with waiting(task.exercise.name, quiet=options.as_json) as tell:
            verdict = grade(replace(request, tell=tell))
        try:
            yield task, _without_notes(verdict) if is_untouched(request) else verdict
        finally:  # behind the report, which need not wait for the disk
            if not (options.solution or options.no_record):
                record(verdict)


def _without_notes(verdict: Verdict) -> Verdict:
    """The verdict on an untouched stub: that it leaves its variables unused is no news to anybody."""
    kept = tuple(found for found in verdict.diagnostics if found.severity == "error")
    return replace(verdict, diagnostics=kept)


def _import_the_rest() -> None:
    """Import rich and the database while the children work."""
    from importlib import import_module

    for name in ("grader.render.terminal", "rich.console", "rich.table", "grader.practice.database", "sqlite3"):
        import_module(name)


def _print_report(task: Task, verdict: Verdict, options: Options, *, last: bool) -> None:
    from grader.render.terminal import to_terminal

    shown = screen(no_color=options.no_color)
    report = to_terminal(
        verdict, _text_of(task.path), beside=_beside(task), graded=_which_file(task, options),
        width=shown.width, color=shown.color, unicode=shown.unicode,
    )  # fmt: skip
    print_text(report if last else report + "\n")


def _which_file(task: Task, options: Options) -> str:
    """Words for the course's own stub, which is graded where the person has no file."""
    from grader.stages.advice import shown

    if options.file is not None or task.path != task.exercise.stub:
        return ""
    return f"{shown(task.path)} (there is no ./{task.path.name} here)"


def _text_of(path: Path) -> str:
    """The graded text for the excerpt; whatever cannot be read has its own message in the verdict."""
    try:
        with path.open("rb") as file:
            return file.read(1 << 20).decode("utf-8", "replace")
    except OSError:
        return ""


def _beside(task: Task) -> dict[str, str]:
    """The host file's text by its name, for findings in it."""
    if not task.exercise.exercise.host:
        return {}
    from grader.cli.hostfile import host_file

    try:
        path = task.host or host_file(task.exercise, task.path)
    except SubmissionError:  # there is none, as the verdict says
        return {}
    return {path.name: _text_of(path)}


def _print_document(verdicts: Sequence[Verdict], elapsed_s: float) -> None:
    from grader.render.json import run_document, versions

    print_json(run_document(verdicts, versions=versions(), elapsed_s=elapsed_s))
    sys.stdout.flush()


def _write_junit(path: Path, verdicts: Sequence[Verdict]) -> None:
    from datetime import UTC, datetime

    from grader.cli.output import write_file
    from grader.render.junit import to_junit

    write_file(path, to_junit(verdicts, timestamp=datetime.now(UTC).isoformat(timespec="seconds")))


def _write_html(path: Path, catalog: Catalog, tasks: Sequence[Task], verdicts: Sequence[Verdict]) -> None:
    from grader.cli.history import ladder_points
    from grader.cli.output import write_file
    from grader.render.html import Graded, to_html
    from grader.render.json import versions

    graded = [
        Graded(
            verdict,
            _text_of(task.path),
            task.exercise.exercise.idea,
            ladder_points(catalog, task.exercise, verdict),
            _beside(task),
        )
        for task, verdict in zip(tasks, verdicts, strict=True)
    ]
    write_file(path, to_html(graded, versions=versions()))
