"""``grade bench``, ``grade calibrate`` and ``grade profile``: the solutions timed, pass lines, what ncu counts."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from grader.bench.report import to_json, to_markdown
from grader.cli.course import find, load
from grader.cli.grading import file_for
from grader.dev.slices import LEFT
from grader.errors import UsageError
from grader.output import print_json, print_line, print_table, say, screen, table_of, wrapped, write_file
from grader.text import counted, duration, percent
from grader.timing.pass_lines import PassLine, Profile, line_below, own_file, read_profile, save, separated
from grader.timing.roofline import TOO_FAST, line_in_words

if TYPE_CHECKING:
    from rich.table import Table

    from grader.bench.profile import ProfileRow, SubmissionProfile
    from grader.bench.report import BenchReport, BenchRow
    from grader.catalog.courses import CourseExercise
    from grader.catalog.exercises import Catalog

# --------------------------------------------------------------------------------------------------------------- bench


def run_bench(
    names: Sequence[str], courses: Sequence[Path], *, device: int, output: Path | None, minutes: float | None
) -> int:
    """Time the solutions of the named exercises (default: all). Exit 1 where one does not pass its line.

    With ``minutes`` it is a slice: exit 3, and no file, while exercises are left.
    """
    from grader.backends.gpu import GpuBackend
    from grader.bench.solutions import bench

    catalog = load(courses)
    exercises = [find(catalog, name) for name in names] or list(catalog.exercises)
    report = bench(
        exercises, GpuBackend(device), secrets.randbits(53), lambda name: print_line(name, to_stderr=True),
        limit_s=None if minutes is None else 60 * minutes,
    )  # fmt: skip
    print_table(bench_table(report))
    if report.left:
        print_line(f"\n{report.left} exercises are left: the same command goes on with them")
        return LEFT
    if output is not None:
        write_file(output, to_markdown(report))
        write_file(output.with_suffix(".json"), to_json(report))
    return 0 if all(row.good for row in report.rows) else 1


def bench_table(report: BenchReport) -> Table:
    """Return one row per solution: its time and rate, and the library beside it; further libraries below."""
    table = table_of("exercise", "size", "median", "of peak", "of ceiling", "line", "fast", "library", "of peak")
    for row in report.rows:
        found = row.measured
        if found is None:
            table.add_row(row.exercise, row.size, row.problem)
            continue
        cells = [
            row.exercise, row.size, duration(found.median_s), _part(found.fraction_of_peak),
            _part(found.fraction_of_ceiling), *([found.line, row.word] if found.line_fraction else ["–", "–"]),
        ]  # fmt: skip
        libraries = [(f"{one.name} {duration(one.seconds)}", _part(one.fraction)) for one in row.libraries]
        for beside in libraries or [("–", "–")]:
            table.add_row(*cells, *beside)
            cells = [""] * len(cells)
    return table


def _part(value: float | None) -> str:
    return "–" if value is None else percent(value)


# ----------------------------------------------------------------------------------------------------------- calibrate


def calibrate(names: Sequence[str], courses: Sequence[Path], *, device: int, output: Path | None) -> int:
    """Time the solutions and write the GPU's profile. Exit 1 where one could not be measured."""
    from grader.backends.gpu import GpuBackend
    from grader.bench.solutions import bench

    catalog = load(courses)
    exercises = _timed(catalog, names)
    backend = GpuBackend(device)
    path = output or own_file(backend.gpu.name)
    older = _older(path, backend.gpu.name, mine=output is None)
    report = bench(exercises, backend, secrets.randbits(53), lambda name: print_line(name, to_stderr=True), alone=True)
    lines = {row.exercise: line_below(row.fraction or 0.0, row.of) for row in report.rows if not why_none(row)}
    measured = Profile(report.gpu.name, report.date, dict(report.versions), lines)
    if measured.lines:
        whole = merged(older, measured, catalog)
        new = {name: line for name, line in whole.lines.items() if name in measured.lines}
        for text in profile_lines(new):  # before the file, which may not be writable: the figures took minutes
            print_line(text)
        save(whole, path)
        print_line("")
        say(f"{path} holds these lines for every {whole.gpu}. `grade calibrate --use FILE` takes them over elsewhere.")
    without = [row for row in report.rows if row.exercise not in measured.lines]
    for row in without:
        say(f"{row.exercise} has no line: {why_none(row)}")
    return 1 if without else 0


def _timed(catalog: Catalog, names: Sequence[str]) -> list[CourseExercise]:
    """The exercises to measure: the named ones, else all that are timed. Raises UsageError where one is not."""
    chosen = [find(catalog, name) for name in names]
    for entry in chosen:
        if why := _why_no_line_can_be_drawn(entry):
            hint = "`grade calibrate` without a name measures all that can be"
            raise UsageError(why, code="not_timed", hint=hint)
    every = [entry for entry in catalog.exercises if not _why_no_line_can_be_drawn(entry)]
    return list({entry.name: entry for entry in chosen}.values()) if names else every


def _why_no_line_can_be_drawn(entry: CourseExercise) -> str:
    """Why nothing is to be measured for it; "" where something is."""
    target = entry.exercise.target
    if entry.solution is None:
        return f"{entry.name} has no solution, so it has no pass line"
    if entry.exercise.timed is None or target is None:
        return f"{entry.name} has no timed size, so it has no pass line"
    if target.unlined:
        return f"{entry.name} has {target.note}"
    return "" if target.calibrated else f"the line of {entry.name} is the same everywhere: {line_in_words(target)}"


def _older(path: Path, gpu: str, *, mine: bool) -> Profile | None:
    """The profile that is there and stays but for what is measured now. Raises UsageError before it is overwritten.

    This user's own profile, where it is damaged, makes room for the new one.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder", code="cannot_write", hint="--output names a file")
    if not path.exists():
        return None
    try:
        older = read_profile(path)
    except UsageError as error:
        if mine:
            say(f"{error.message}; a new one takes its place")
            return None
        raise UsageError(error.message, code=error.code, hint="--output names a new file or a profile") from None
    if older.gpu != gpu:
        message = f"{path} is the profile of an {older.gpu}, and this GPU is an {gpu}"
        raise UsageError(message, code="other_gpu", hint="write to another file: each model has its own")
    return older


def why_none(row: BenchRow) -> str:
    """Why no line can be drawn from this row, in words; "" where one can."""
    if row.measured is None:
        return row.problem or "it was not measured"
    if row.fraction is None or not (isfinite(row.fraction) and row.fraction > 0):
        return f"the {row.of} of this GPU is not known"
    if row.fraction > TOO_FAST:
        return f"it reached {row.fraction:.2f} of the {row.of}, which cannot be: the {row.of} is wrong on this GPU"
    return ""


def merged(older: Profile | None, newer: Profile, catalog: Catalog) -> Profile:
    """Both profiles in one. Whether a step is separated from the timed one before it is seen over all their lines."""
    both = newer if older is None else older.with_lines(newer)
    before = {}  # each step's predecessor on its ladder, among those that have a line
    for entry in (entry for entry in catalog.exercises if entry.name in both.lines):
        steps = [other.name for other in catalog.ladder(entry) if other.name in both.lines]
        if at := steps.index(entry.name):
            before[entry.name] = steps[at - 1]
    return replace(both, lines=separated(both.lines, before))


def use_profile(path: Path) -> int:
    """Take over a profile that somebody has measured on the same model; its lines go before those of one's own."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}", code="cannot_read", hint="`grade calibrate` writes a profile")
    profile = read_profile(path)
    target = own_file(profile.gpu)
    older = _older(target, profile.gpu, mine=True)
    save(profile if older is None else older.with_lines(profile), target)
    say(f"{counted(len(profile.lines), 'pass line')} for every {profile.gpu}, measured on {profile.date}.")
    return 0


def profile_lines(lines: Mapping[str, PassLine]) -> Iterator[str]:
    """Yield the lines as a table in words."""
    widest = max(map(len, ("exercise", *lines)))
    yield f"{'exercise':<{widest}}  solution    line  of"
    for name, line in lines.items():
        note = "" if line.separated else "   no faster than the step before: technique alone tells them apart"
        yield f"{name:<{widest}}  {line.solution:>8.3f}  {line.fraction:>6.3g}  {line.of}{note}"


# ------------------------------------------------------------------------------------------------------------- profile

PROFILE_SCHEMA = "warpgrade/profiled/1"
PROFILE_SEED = 1


def show_profile(
    name: str, courses: Sequence[Path], *, file: Path | None, solution: bool, device: int, ncu: str | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Profile the file that `grade` would grade. Raises Unsupported without a GPU, ncu, or the right to count."""
    from grader.bench.profile import profiled_submission
    from grader.gpus.detect import detect

    entry = find(load(courses), name)
    path = file_for(entry, file=file, solution=solution)
    profile = profiled_submission(entry, path, detect(device), seed=PROFILE_SEED, courses=courses, ncu=ncu)
    if as_json:
        print_json({"schema": PROFILE_SCHEMA, **asdict(profile)})
        return 0
    shown = screen()
    for line in profiled_lines(profile):
        print_line(wrapped(line, width=shown.width) if len(line) > shown.width else line)
    return 0


def profiled_lines(profile: SubmissionProfile) -> Iterator[str]:
    """Yield the comparison in words."""
    size = ", ".join(f"{name} = {value}" for name, value in profile.size.items())
    yield f"{profile.exercise} at {size}, all launches together:"
    yield ""
    yield f"  {'counter':<24} {'simulator':>13} {profile.gpu.removeprefix('NVIDIA '):>13}  ratio"
    for row in profile.rows:
        yield f"  {row.counter:<24} {_number(row.simulator):>13} {_number(row.profiler):>13}  {_note(row)}"
    yield ""
    yield "Sectors have to be equal. Instructions and shared requests are the machine's, which ptxas made of the PTX: "
    yield "compare their ratios. docs/counters.md has the profiler's name of each counter."
    yield ""
    yield f"  {'launch':<34} {'time':>9} {'DRAM':>7} {'warps':>7} {'registers':>10}"
    for facts in profile.facts:
        # ``256`` for (256, 1, 1), else all three
        grid, block = (
            str(size[0] if size[1:] == (1, 1) else size).replace(" ", "") for size in (facts.grid, facts.block)
        )
        time = "-" if facts.seconds is None else duration(facts.seconds)
        dram, warps = ("-" if part is None else percent(part) for part in (facts.dram, facts.warps))
        shape = f"{facts.kernel}<<<{grid}, {block}>>>"
        yield f"  {shape:<34} {time:>9} {dram:>7} {warps:>7} {facts.registers or '-':>10}"
    yield ""
    yield "DRAM: bandwidth in use, of the peak. Warps: resident warps, of those that fit. At this small size both are "
    yield "lower than at the timed one."


def _note(row: ProfileRow) -> str:
    if row.profiler == row.simulator:
        return "equal"
    if row.differs:
        return "differs, and must not: please report it"
    return f"{row.profiler / row.simulator:.3f}" if row.profiler and row.simulator else ""


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3f}"
