"""`grade profile`: one submission's counters on the simulator, and beside them Nsight Compute's, in the same words.

profiled_submission(entry, path, gpu, seed=1) -> SubmissionProfile      frozen records; `rows` is pure
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.bench.nsight import ProfiledLaunch, find_ncu, profiled
from grader.errors import SubmissionError, Unsupported

if TYPE_CHECKING:
    from grader.backends.base import CaseRun
    from grader.catalog.exercises import CourseExercise
    from grader.compile import Program
    from grader.gpus.detect import Gpu
    from grader.verdict import LaunchRecord

SAME: Mapping[str, str] = {
    "instructions": "smsp__inst_executed.sum",
    "thread_instructions": "smsp__thread_inst_executed_pred_on.sum",
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_load_bytes": "smsp__sass_data_bytes_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "global_store_bytes": "smsp__sass_data_bytes_mem_global_op_st.sum",
    "shared_load_requests": "smsp__inst_executed_op_shared_ld.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_requests": "smsp__inst_executed_op_shared_st.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "excess_wavefronts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
}
"""The simulator's counter and the profiler's metric for the same thing: docs/counters.md."""

EXACT = frozenset({"global_load_sectors", "global_store_sectors"})
"""Counters that agree to the last one; ptxas changes the others, see docs/counters.md."""

DURATION, DRAM = "gpu__time_duration.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed"
WARPS, REGISTERS = "sm__warps_active.avg.pct_of_peak_sustained_active", "launch__registers_per_thread"
FACTS = (DURATION, DRAM, WARPS, REGISTERS)
"""What only the GPU can tell."""


@dataclass(frozen=True)
class Row:
    """One counter over all launches. ``metric`` is the profiler's name, or the formula where it is derived."""

    counter: str
    simulator: float
    profiler: float | None
    metric: str

    @property
    def differs(self) -> bool:
        """Whether two counts that have to be equal are not."""
        return self.counter in EXACT and self.profiler is not None and self.simulator != self.profiler


@dataclass(frozen=True)
class LaunchFacts:
    """One launch as the GPU ran it: seconds, and what it held of the peak bandwidth and of the warps that fit."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    seconds: float | None
    dram: float | None
    warps: float | None
    registers: int | None


@dataclass(frozen=True)
class SubmissionProfile:
    """One submission at its simulated size: both sides' counters, and each launch as the GPU ran it."""

    exercise: str
    size: Mapping[str, int]
    gpu: str
    rows: tuple[Row, ...]
    facts: tuple[LaunchFacts, ...]


def profiled_submission(
    entry: CourseExercise, path: Path, gpu: Gpu, *, seed: int, courses: Sequence[Path] = (), ncu: str | None = None
) -> SubmissionProfile:
    """Run a file at the simulated size, on the simulator and under Nsight Compute.

    Raises SubmissionError where it does not compile or does not run cleanly, Unsupported where it cannot be profiled.
    """
    from grader.bench.launch_once import compiled, simulated_run
    from grader.compile import assemble
    from grader.gpus.models import simulable

    tool = find_ncu(ncu)
    if entry.exercise.host:
        raise Unsupported(f"{entry.name} has a host file: profile it with `ncu python` and a script of your own")
    if not simulable(entry.exercise.requires):
        message = f"{entry.name} needs {entry.exercise.requires}: the simulator counts nothing to compare with"
        raise Unsupported(message, hint="profile it with ncu and a script of your own")
    program = compiled(path)
    run = simulated_run(entry.exercise, program, seed)
    counted = simulated(program, run)
    assemble(program, gpu.arch)  # so that the profiled process finds it in the cache
    words = launching(entry.name, path, seed, device=gpu.index, courses=courses)
    kernels = {launch.kernel for launch in run.plan.launches}
    seen = [launch for launch in profiled(words, (*SAME.values(), *FACTS), ncu=tool) if launch.kernel in kernels]
    if len(seen) != len(counted):
        raise Unsupported(f"Nsight Compute saw {len(seen)} launches, the simulator {len(counted)}")
    facts = tuple(map(_facts, counted, seen))
    return SubmissionProfile(entry.name, entry.exercise.simulated, gpu.name, tuple(rows(counted, seen)), facts)


def launching(name: str, path: Path, seed: int, *, device: int = 0, courses: Sequence[Path] = ()) -> list[str]:
    """The command that launches a file once, for the profiler to watch."""
    words = [sys.executable, "-m", "grader.bench.launch_once", name, str(path.absolute()), "--seed", str(seed)]
    return [*words, "--device", str(device), *(f"--course={course.absolute()}" for course in courses)]


def simulated(program: Program, run: CaseRun) -> Sequence[LaunchRecord]:
    """The launches as the simulator counts them. Raises SubmissionError where one does not end well."""
    from grader.backends.base import Limits
    from grader.backends.sim.session import SimBackend

    with SimBackend().open(program, Limits(launch_s=120.0, total_s=300.0)) as session:
        execution = session.run(run)
    if execution.failure:
        found = execution.diagnostics[0].message if execution.diagnostics else execution.failure
        hint = "`grade` explains it; profile it once it runs"
        raise SubmissionError(execution.failure, found, hint=hint, diagnostics=execution.diagnostics)
    return execution.launches


def rows(counted: Sequence[LaunchRecord], seen: Sequence[ProfiledLaunch]) -> Iterator[Row]:
    """Both sides' sums over all launches, without what is zero on both, and two ratios made of them."""
    mine = {counter: sum(launch.counters.get(counter, 0.0) for launch in counted) for counter in SAME}
    theirs = {counter: _sum(seen, metric) for counter, metric in SAME.items()}
    for counter, metric in SAME.items():
        if mine[counter] or theirs[counter]:
            yield Row(counter, mine[counter], theirs[counter], metric)
    for counter, above, below, factor in _RATIOS:
        ours = _ratio(mine, above, below, factor)
        if ours is not None:
            yield Row(counter, ours, _ratio(theirs, above, below, factor), "from the lines above")


_MOVED = ("global_load_bytes", "global_store_bytes")
_SECTORS = ("global_load_sectors", "global_store_sectors")
_RATIOS = (
    ("sector_efficiency", _MOVED, _SECTORS, 1 / 32),
    ("active_lanes", ("thread_instructions",), ("instructions",), 1.0),
)


def _ratio(
    values: Mapping[str, float | None], above: Sequence[str], below: Sequence[str], factor: float
) -> float | None:
    whole = sum(values[name] or 0.0 for name in below)
    return factor * sum(values[name] or 0.0 for name in above) / whole if whole else None


def _sum(seen: Sequence[ProfiledLaunch], metric: str) -> float | None:
    found = [launch.metrics[metric] for launch in seen if metric in launch.metrics]
    return sum(found) if found else None


def _facts(launch: LaunchRecord, seen: ProfiledLaunch) -> LaunchFacts:
    def part(metric: str) -> float | None:
        value = seen.metrics.get(metric)
        return None if value is None else value / 100

    nanoseconds, registers = seen.metrics.get(DURATION), seen.metrics.get(REGISTERS)
    return LaunchFacts(
        launch.kernel, launch.grid, launch.block,
        None if nanoseconds is None else nanoseconds * 1e-9, part(DRAM), part(WARPS),
        None if registers is None else int(registers),
    )  # fmt: skip
