"""``grade tune NAME --set BM=64,128``: try every combination of a file's integer constants, and name the fastest."""

from __future__ import annotations

import os
import secrets
import signal
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import current_thread, main_thread

from grader.catalog.courses import CourseExercise
from grader.cli.course import find, load
from grader.cli.grading import file_for
from grader.compile import read_submission
from grader.compile.source import checked_source
from grader.errors import Unsupported, UsageError
from grader.frozen import dataclass
from grader.gpus.detect import Gpu, detect
from grader.gpus.models import SIMULATED, capability, simulable
from grader.launch import DeviceLimits
from grader.output import print_json, print_line, print_table, screen, waiting, wrapped, write_file
from grader.practice.moved import refuse_old
from grader.render.json import dumps
from grader.render.tuning import Tuned, after_lines, before_lines, document, to_markdown, to_table
from grader.simt.occupancy import NotPossible, multiprocessor
from grader.timing import roofline
from grader.tune.build import Machine, Workshop
from grader.tune.settings import Setting, SettingPlace, combinations, in_words, parse_settings, places_of, rewritten

UNSUPPORTED, FAILED, INTERRUPTED = 4, 1, 130


@dataclass(frozen=True)
class TuneOptions:
    """The command's options, as click passes them."""

    name: str
    sets: tuple[str, ...]
    file: Path | None
    solution: bool
    device: int
    arch: str | None
    write: bool
    output: Path | None
    as_json: bool
    courses: tuple[Path, ...]


@dataclass(frozen=True)
class _Job:
    """What to tune, and where: on a GPU, or without one by arithmetic only (``why_not`` and a hint say why)."""

    entry: CourseExercise
    path: Path
    source: str
    settings: Sequence[Setting]
    places: dict[str, SettingPlace]
    machine: Machine
    gpu: Gpu | None
    why_not: str
    hint: str


def tune(options: TuneOptions) -> int:
    """Sweep, show, and write if requested. Exit 1 if no combination is correct, 4 if nothing could be measured."""
    job = _job(options)
    with _ctrl_c_stops() as stopped:
        tuned = _tuned(job, stopped, quiet=options.as_json)
    _show(tuned, options)
    if options.write:
        _write(job, tuned)
    if tuned.sweep.interrupted:
        return INTERRUPTED
    if job.gpu is not None:
        return 0 if tuned.sweep.best is not None else FAILED
    if options.arch is not None:
        return 0
    print_line(f"grade: nothing was measured: {job.why_not}", to_stderr=True)
    if job.hint:
        print_line(f"       {job.hint}", to_stderr=True)
    return UNSUPPORTED


def _job(options: TuneOptions) -> _Job:
    """Check the command and collect what it needs, before anything is compiled.

    Raises UsageError for an exercise that cannot be tuned, SubmissionError for a file that cannot be graded.
    """
    settings = parse_settings(options.sets)
    if options.solution and options.write:
        hint = f"`grade solution {options.name} --output FILE` makes a copy for you"
        raise UsageError("--write changes your own file, not the course's solution", code="usage", hint=hint)
    catalog = load(options.courses)
    entry = find(catalog, options.name)
    exercise = entry.exercise
    if exercise.host or exercise.timed is None or exercise.target is None:
        what = "is about the host file" if exercise.host else "has no timed size"
        raise UsageError(f"{entry.name} {what}: it has no kernel time to compare", code="not_timed")
    path = file_for(entry, file=options.file, solution=options.solution)
    if not options.solution:
        refuse_old(catalog, entry, path)
    source = checked_source(read_submission(path), path.name)
    places = places_of(source, path.name, settings)
    gpu, why_not, hint = None, "", ""
    if options.arch is None:
        try:
            gpu = detect(options.device)
            why_not = gpu.why_not(exercise.requires)
        except Unsupported as error:
            why_not, hint = error.message, error.hint
    gpu = None if why_not else gpu
    machine = _machine(exercise.requires, gpu, options.arch)
    return _Job(entry, path, source, settings, places, machine, gpu, why_not, hint)


# --------------------------------------------------------------------------------------------------------------- sweep


def _tuned(job: _Job, stopped: Callable[[], bool], *, quiet: bool) -> Tuned:
    from grader.backends.base import Limits
    from grader.backends.gpu import GpuBackend
    from grader.tune.sweep import GpuTimer, Sweep, sweep

    exercise, gpu, machine = job.entry.exercise, job.gpu, job.machine
    assert exercise.timed is not None
    assert exercise.target is not None
    workshop = Workshop(
        exercise, exercise.timed, job.path.name, job.source, job.places, machine, job.entry.header_texts
    )
    with waiting(job.entry.name, doing="tuning", quiet=quiet) as show_step:
        variants = workshop.build_all(combinations(job.settings), show_step, stopped)
        if gpu is None:
            result = Sweep(variants, stopped())
        else:
            with (
                closing(GpuBackend(gpu)) as backend,
                closing(GpuTimer(job.entry, backend, machine, secrets.randbits(53), Limits())) as timer,
            ):
                result = sweep(variants, timer, show_step, stopped)
    peak = roofline.peak_of(exercise.target.unit, roofline.peaks(gpu)) if gpu is not None else None
    return Tuned(
        job.entry.name, job.path.name, job.source, job.places, job.settings, machine.name, machine.arch,
        gpu is not None, exercise.timed, roofline.work_of(exercise, exercise.timed), peak, result,
    )  # fmt: skip


def _machine(requires: str, gpu: Gpu | None, arch: str | None) -> Machine:
    """The machine to tune for: this GPU; else ``arch``, by default the simulated or the required architecture."""
    from grader.tune.sweep import machine_of

    if gpu is not None:
        return machine_of(gpu, requires)
    newer, simulated = not simulable(requires), SIMULATED.architecture
    arch = arch or (requires if newer else simulated)
    try:
        has = multiprocessor(arch)
    except NotPossible as error:
        raise UsageError(error.message, code=error.code, hint=error.hint) from None
    limits = replace(DeviceLimits(), name=arch, max_shared_bytes=has.shared_bytes_per_block)
    return Machine("no GPU, by arithmetic", arch, requires if newer else min(arch, simulated, key=capability), limits)


@contextmanager
def _ctrl_c_stops() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C stops after the current combination and shows the results; the second ends at once."""
    signals: list[int] = []
    if current_thread() is not main_thread():
        yield lambda: False
        return

    def note(number: int, frame: object) -> None:
        signals.append(number)
        signal.signal(signal.SIGINT, before)
        os.write(2, b"\nstopping: the results so far follow in a moment; Ctrl-C again ends at once\n")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(signals)
    finally:
        signal.signal(signal.SIGINT, before)


# -------------------------------------------------------------------------------------------------------------- results


def _show(tuned: Tuned, options: TuneOptions) -> None:
    if options.as_json:
        print_json(document(tuned))
    else:
        width = screen().width
        for line in before_lines(tuned):
            print_line(wrapped(line, width=width))
        print_table(to_table(tuned))
        for line in after_lines(tuned):
            print_line(wrapped(line, width=width) if not line.startswith("  ") else line)
    if options.output is not None:
        write_file(options.output, to_markdown(tuned))
        write_file(options.output.with_suffix(".json"), dumps(document(tuned)) + "\n")


def _write(job: _Job, tuned: Tuned) -> None:
    """Change the values in the file atomically. Raises UsageError if the file has changed during the sweep."""
    best = tuned.sweep.best
    if best is None or not tuned.new_lines:
        print_line(f"{job.path} was not changed.", to_stderr=True)
        return
    before = read_submission(job.path)
    if before.removeprefix(BOM_UTF8) != job.source.encode():
        hint = "run it again, or change the lines yourself"
        raise UsageError(f"{job.path} was changed while it was tuned: nothing is written", code="changed", hint=hint)
    after = rewritten(job.source, job.places, best.choice).encode()
    target = job.path.resolve()  # so that a link stays a link
    temporary = target.with_name(f".{target.name}.new")
    try:
        temporary.write_bytes(before[: len(before) - len(job.source.encode())] + after)
        temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"cannot write {job.path}: {error.strerror}", code="cannot_write") from None
    print_line(f"{job.path} now has {in_words(best.choice)}.", to_stderr=True)
