"""``grade bench``, ``grade calibrate`` and ``grade profile``: times of the solutions, pass lines, counters of ncu."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from grader.bench.report import report_from_json, to_json, to_markdown, with_older_rows
from grader.cli.course import find, load
from grader.cli.grading import file_for
from grader.dev.slices import LEFT
from grader.errors import UsageError
from grader.output import print_json, print_line, print_table, say, screen, table_of, wrapped, write_file
from grader.practice.moved import refuse_old
from grader.text import counted, duration, percent
from grader.timing.pass_lines import PassLine, Profile, line_below, own_file, read_profile, save, separated
from grader.timing.roofline import TOO_FAST, line_in_words

if TYPE_CHECKING:
    from rich.table import Table

    from grader.bench.profile import ProfileRow, SubmissionProfile
    from grader.bench.report import BenchReport, BenchRow
    from grader.catalog.courses import CourseExercise
    from grader.catalog.exercises import Catalog
    from grader.gpus.detect import Gpu

# --------------------------------------------------------------------------------------------------------------- bench


def run_bench(
    names: Sequence[str], courses: Sequence[Path], *, device: int, output: Path | None, minutes: float | None
) -> int:
    """Time the solutions of the named exercises (default: all). Exit 1 if one does not pass its line.

    With ``minutes`` it times a slice of them: exit 3, and no file, while exercises are left. Rows of other exercises
    stay in ``output``.
    """
    from grader.backends.gpu import GpuBackend
    from grader.bench.solutions import bench

    catalog = load(courses)
    exercises = [find(catalog, name) for name in names] or list(catalog.exercises)
    backend = GpuBackend(device)
    older = _older_rows(output, backend.gpu) if names and output else None
    report = bench(
        exercises, backend, secrets.randbits(53), lambda name: print_line(name, to_stderr=True),
        limit_s=None if minutes is None else 60 * minutes,
    )  # fmt: skip
    print_table(bench_table(report))
    if report.left:
        print_line(f"\n{report.left} exercises are left: run the same command again to continue")
        return LEFT
    good = all(row.good for row in report.rows)  # those of this run: older ones were judged before
    if output is not None:
        if older is not None:
            report = with_older_rows(report, older, [entry.name for entry in catalog.exercises])
        write_file(output, to_markdown(report))
        write_file(output.with_suffix(".json"), to_json(report))
    return 0 if good else 1


def _older_rows(output: Path, gpu: Gpu) -> BenchReport | None:
    """The report that ``output`` holds; None if there is none.

    Raises UsageError if its figures cannot stand beside new ones.
    """
    from grader.bench.solutions import versions

    path = output.with_suffix(".json")
    if not path.exists():
        return None
    hint = "`--output` keeps the figures of other exercises: name a new file"
    try:
        older = report_from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} has no figures of `grade bench`", code="cannot_read", hint=hint) from error
    if (older.gpu.name, older.versions) != (gpu.name, versions(gpu)):
        raise UsageError(f"the figures in {path} are of another GPU, or other versions", code="other_gpu", hint=hint)
    return older


def bench_table(report: BenchReport) -> Table:
    """Return one row per solution: its time and rate, and a library's; further libraries in rows below."""
    table = table_of("exercise", "size", "median", "of peak", "of ceiling", "line", "fast", "library", "of peak")
    for row in report.rows:
        measured = row.measured
        if measured is None:
            table.add_row(row.exercise, row.size, row.problem)
            continue
        cells = [
            row.exercise, row.size, duration(measured.median_s), _part(measured.fraction_of_peak),
            _part(measured.fraction_of_ceiling),
            *([measured.line, row.word] if measured.line_fraction else ["–", "–"]),
        ]  # fmt: skip
        libraries = [
            (f"{library.name} {duration(library.seconds)}", _part(library.fraction)) for library in row.libraries
        ]
        for library_cells in libraries or [("–", "–")]:
            table.add_row(*cells, *library_cells)
            cells = [""] * len(cells)
    return table


def _part(value: float | None) -> str:
    return "–" if value is None else percent(value)


# ----------------------------------------------------------------------------------------------------------- calibrate


def calibrate(names: Sequence[str], courses: Sequence[Path], *, device: int, output: Path | None) -> int:
    """Time the solutions and write the GPU's profile. Exit 1 if one could not be measured."""
    from grader.backends.gpu import GpuBackend
    from grader.bench.solutions import bench

    catalog = load(courses)
    exercises = _timed(catalog, names)
    backend = GpuBackend(device)
    path = output or own_file(backend.gpu.name)
    older = _older(path, backend.gpu.name, mine=output is None)
    report = bench(exercises, backend, secrets.randbits(53), lambda name: print_line(name, to_stderr=True), alone=True)
    measured = profile_of(report)
    if measured.lines:
        whole = merged(older, measured, catalog)
        new = {name: line for name, line in whole.lines.items() if name in measured.lines}
        for text in profile_lines(new):  # printed first: the file may not be writable, and the figures took minutes
            print_line(text)
        save(whole, path)
        print_line("")
        say(f"{path} has these lines, for every {whole.gpu}. `grade calibrate --use FILE` installs them elsewhere.")
    without = [row for row in report.rows if row.exercise not in measured.lines]
    for row in without:
        say(f"{row.exercise} has no line: {why_none(row)}")
    return 1 if without else 0


def _timed(catalog: Catalog, names: Sequence[str]) -> list[CourseExercise]:
    """The exercises to measure: the named ones, else all timed ones. Raises UsageError if a named one is not timed."""
    chosen = [find(catalog, name) for name in names]
    for entry in chosen:
        if why := _why_not_calibrated(entry):
            hint = "`grade calibrate` without a name measures every exercise that can be calibrated"
            raise UsageError(why, code="not_timed", hint=hint)
    every = [entry for entry in catalog.exercises if not _why_not_calibrated(entry)]
    return list({entry.name: entry for entry in chosen}.values()) if names else every


def _why_not_calibrated(entry: CourseExercise) -> str:
    """Why an exercise has no pass line that can be measured; "" if it has."""
    target = entry.exercise.target
    if entry.solution is None:
        return f"{entry.name} has no solution, so it has no pass line"
    if entry.exercise.timed is None or target is None:
        return f"{entry.name} has no timed size, so it has no pass line"
    if target.unlined:
        return f"{entry.name} has {target.note}"
    return "" if target.calibrated else f"the line of {entry.name} is the same everywhere: {line_in_words(target)}"


def _older(path: Path, gpu: str, *, mine: bool) -> Profile | None:
    """The existing profile, whose other lines stay. Raises UsageError if the file must not be overwritten.

    A damaged profile of this user (``mine``) is replaced.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder", code="cannot_write", hint="--output names a file")
    if not path.exists():
        return None
    try:
        older = read_profile(path)
    except UsageError as error:
        if mine:
            say(f"{error.message}; a new one replaces it")
            return None
        raise UsageError(error.message, code=error.code, hint="--output names a new file or a profile") from None
    if older.gpu != gpu:
        message = f"{path} is the profile of an {older.gpu}, and this GPU is an {gpu}"
        raise UsageError(message, code="other_gpu", hint="write to another file: each model has its own")
    return older


def why_none(row: BenchRow) -> str:
    """Why there is no pass line from this row; "" if there is one."""
    if row.measured is None:
        return row.problem or "it was not measured"
    if row.fraction is None or not (isfinite(row.fraction) and row.fraction > 0):
        return f"the {row.of} of this GPU is not known"
    if row.fraction > TOO_FAST:
        return f"it reached {row.fraction:.2f} of the {row.of}, which is impossible: the {row.of} is wrong on this GPU"
    return ""


def profile_of(report: BenchReport) -> Profile:
    """The pass lines of a report: of each exercise's first row, which is of the graded size."""
    first: dict[str, BenchRow] = {}
    for row in report.rows:
        first.setdefault(row.exercise, row)
    lines = {name: line_below(row.fraction or 0.0, row.of) for name, row in first.items() if not why_none(row)}
    return Profile(report.gpu.name, report.date, dict(report.versions), lines)


def merged(older: Profile | None, newer: Profile, catalog: Catalog) -> Profile:
    """Both profiles in one; every step is compared with its predecessor among all their lines."""
    both = newer if older is None else older.with_lines(newer)
    before = {}  # each step's predecessor on its ladder, among the steps with a line
    for entry in (entry for entry in catalog.exercises if entry.name in both.lines):
        steps = [other.name for other in catalog.ladder(entry) if other.name in both.lines]
        if at := steps.index(entry.name):
            before[entry.name] = steps[at - 1]
    return replace(both, lines=separated(both.lines, before))


def use_profile(path: Path) -> int:
    """Install a profile that was measured on the same GPU model; its lines take precedence over the user's own."""
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
        note = "" if line.separated else "   no faster than the step before: only technique distinguishes them"
        yield f"{name:<{widest}}  {line.solution:>8.3f}  {line.fraction:>6.3g}  {line.of}{note}"


# ------------------------------------------------------------------------------------------------------------- profile

PROFILE_SCHEMA = "warpgrade/profiled/1"
PROFILE_SEED = 1


def show_profile(
    name: str, courses: Sequence[Path], *, file: Path | None, solution: bool, device: int, ncu: str | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Profile the file that `grade` would grade. Raises Unsupported without a GPU, ncu, or permission to count."""
    from grader.bench.profile import profiled_submission
    from grader.gpus.detect import detect

    catalog = load(courses)
    entry = find(catalog, name)
    path = file_for(entry, file=file, solution=solution)
    if not solution:
        refuse_old(catalog, entry, path)
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
    yield "Sectors must be equal. The GPU's instructions and shared requests are those of the machine code that ptxas "
    yield "made from the PTX: compare their ratios. docs/counters.md has the profiler's name of each counter."
    yield ""
    yield f"  {'launch':<34} {'time':>9} {'DRAM':>7} {'warps':>7} {'registers':>10}"
    for facts in profile.facts:
        # ``256`` for (256, 1, 1), else all three extents
        grid, block = (
            str(size[0] if size[1:] == (1, 1) else size).replace(" ", "") for size in (facts.grid, facts.block)
        )
        time = "-" if facts.seconds is None else duration(facts.seconds)
        dram, warps = ("-" if part is None else percent(part) for part in (facts.dram, facts.warps))
        shape = f"{facts.kernel}<<<{grid}, {block}>>>"
        yield f"  {shape:<34} {time:>9} {dram:>7} {warps:>7} {facts.registers or '-':>10}"
    yield ""
    yield "DRAM: bandwidth as a percentage of the peak. Warps: resident warps as a percentage of the maximum. At this "
    yield "small size both are lower than at the timed size."


def _note(row: ProfileRow) -> str:
    if row.profiler == row.simulator:
        return "equal"
    if row.differs:
        return "differs, but must be equal: please report it"
    return f"{row.profiler / row.simulator:.3f}" if row.profiler and row.simulator else ""


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3f}"
