"""``grade profile NAME``: Nsight Compute's counters beside the simulator's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from grader.cli.course import find, load
from grader.errors import UsageError
from grader.output import print_json, print_line, screen, wrapped

if TYPE_CHECKING:
    from grader.backends.gpu.profile import LaunchFacts, Row, SubmissionProfile

SCHEMA = "warpgrade/profiled/1"
SEED = 1


def show_profile(
    name: str,
    file: Path | None,
    courses: Sequence[Path],
    *,
    solution: bool,
    device: int,
    ncu: str | None,
    as_json: bool,
) -> int:
    """Profile the file that `grade` would grade. Raises Unsupported without a GPU, ncu, or the right to count."""
    from grader.backends.gpu.profile import profiled_submission
    from grader.cli.grading import Options, file_for
    from grader.gpus.detect import detect

    if file is not None and solution:
        raise UsageError("--file and --solution exclude each other", code="file_and_solution", hint="leave one out")
    entry = find(load(courses), name)
    path = file_for(entry, Options(names=(name,), file=file, solution=solution))
    profile = profiled_submission(entry, path, detect(device), seed=SEED, courses=courses, ncu=ncu)
    if as_json:
        print_json({"schema": SCHEMA, **asdict(profile)})
        return 0
    shown = screen()
    for line in profile_lines(profile):
        print_line(wrapped(line, width=shown.width) if len(line) > shown.width else line)
    return 0


def profile_lines(profile: SubmissionProfile) -> Iterator[str]:
    """Yield the comparison in words."""
    size = ", ".join(f"{name} = {value}" for name, value in profile.size.items())
    yield f"{profile.exercise} at {size}, all launches together:"
    yield ""
    yield f"  {'counter':<24} {'simulator':>13} {profile.gpu.removeprefix('NVIDIA '):>13}  ratio"
    yield from map(_row, profile.rows)
    yield ""
    yield "Sectors have to be equal. Instructions and shared requests are the machine's, which ptxas made of the PTX: "
    yield "compare their ratios. docs/counters.md has the profiler's name of each counter."
    yield ""
    yield f"  {'launch':<34} {'time':>9} {'DRAM':>7} {'warps':>7} {'registers':>10}"
    yield from map(_launch, profile.facts)
    yield ""
    yield "DRAM: bandwidth in use, of the peak. Warps: resident warps, of those that fit. At this small size both are "
    yield "lower than at the timed one."


def _row(row: Row) -> str:
    return f"  {row.counter:<24} {_number(row.simulator):>13} {_number(row.profiler):>13}  {_note(row)}"


def _note(row: Row) -> str:
    if row.profiler == row.simulator:
        return "equal"
    if row.differs:
        return "differs, and must not: please report it"
    return f"{row.profiler / row.simulator:.3f}" if row.profiler and row.simulator else ""


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3f}"


def _launch(facts: LaunchFacts) -> str:
    from grader.render.text import duration, percent

    shape = f"{facts.kernel}<<<{_dim3(facts.grid)}, {_dim3(facts.block)}>>>"
    time = "-" if facts.seconds is None else duration(facts.seconds)
    dram, warps = ("-" if part is None else percent(part) for part in (facts.dram, facts.warps))
    return f"  {shape:<34} {time:>9} {dram:>7} {warps:>7} {facts.registers or '-':>10}"


def _dim3(size: tuple[int, int, int]) -> str:
    """``256`` for (256, 1, 1), else all three."""
    return str(size[0]) if size[1:] == (1, 1) else str(size).replace(" ", "")
