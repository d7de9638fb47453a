"""`grade profile`: one submission's counters on the simulator and from Nsight Compute, under the same names.

    profiled_submission(entry, path, gpu, seed=1) -> SubmissionProfile      frozen records; `rows` is pure
    profiled(command, METRICS) -> one record for each kernel launch

Nsight Compute profiles a process that launches the submission once at its simulated size:

    python -m grader.bench.profile NAME FILE [--course DIR]… [--seed N] [--device N]

The launches are those that the simulator runs: the plan is made for the simulated device, so that a grid computed from
`sm_count` is the same on both. The GPU's clocks are not changed: counters do not depend on them.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING

from grader.compile import Program, assemble, compile_source, read_submission
from grader.errors import SubmissionError, Unsupported
from grader.frozen import dataclass
from grader.gpus.detect import Gpu, detect
from grader.gpus.models import simulable
from grader.grading.cases import CaseData, case_run, plan_of, simulated_case
from grader.grading.records import CompiledSubmission
from grader.inputs import make_inputs
from grader.launch import DeviceLimits, parse_launches

if TYPE_CHECKING:
    from grader.backends.base import CaseRun
    from grader.catalog.courses import CourseExercise
    from grader.exercise import Exercise
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
    "special_function_instructions": "smsp__inst_executed_pipe_xu.sum",
    "f64_instructions": "smsp__inst_executed_pipe_fp64.sum",
}
"""The simulator's counters, each with the profiler's metric for the same quantity: docs/counters.md."""

EXACT = frozenset({"global_load_sectors", "global_store_sectors"})
"""Counters that must agree exactly; ptxas changes the others, see docs/counters.md."""

DURATION, DRAM = "gpu__time_duration.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed"
WARPS, REGISTERS = "sm__warps_active.avg.pct_of_peak_sustained_active", "launch__registers_per_thread"
FACTS = (DURATION, DRAM, WARPS, REGISTERS)
"""Metrics that only the GPU can measure."""


@dataclass(frozen=True)
class ProfileRow:
    """One counter over all launches. ``metric`` is the profiler's name, or says how a ratio is derived."""

    counter: str
    simulator: float
    profiler: float | None
    metric: str

    @property
    def differs(self) -> bool:
        """Whether two counts differ that must be equal."""
        return self.counter in EXACT and self.profiler is not None and self.simulator != self.profiler


@dataclass(frozen=True)
class LaunchFacts:
    """One launch on the GPU: seconds, and its fractions of the peak DRAM bandwidth and of the maximum of warps."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    seconds: float | None
    dram: float | None
    warps: float | None
    registers: int | None


@dataclass(frozen=True)
class SubmissionProfile:
    """One submission at its simulated size: the counters of simulator and GPU, and each launch on the GPU."""

    exercise: str
    size: Mapping[str, int]
    gpu: str
    rows: tuple[ProfileRow, ...]
    facts: tuple[LaunchFacts, ...]


def profiled_submission(
    entry: CourseExercise, path: Path, gpu: Gpu, *, seed: int, courses: Sequence[Path] = (), ncu: str | None = None
) -> SubmissionProfile:
    """Run a file at the simulated size, on the simulator and under Nsight Compute.

    Raises SubmissionError if it does not compile or does not run without errors, Unsupported if it cannot be profiled.
    """
    tool = find_ncu(ncu)
    if entry.exercise.host:
        raise Unsupported(f"{entry.name} has a host file: profile it with `ncu python` and your own script")
    if not simulable(entry.exercise.requires):
        message = f"{entry.name} needs {entry.exercise.requires}: the simulator has no counters to compare with"
        raise Unsupported(message, hint="profile it with ncu and your own script")
    program = compiled(path, entry)
    run = simulated_run(entry.exercise, program, seed)
    counted = simulated(program, run)
    assemble(program, gpu.arch)  # so that the profiled process finds it in the cache
    command = launching(entry.name, path, seed, device=gpu.index, courses=courses)
    kernels = {launch.kernel for launch in run.plan.launches}
    on_gpu = [launch for launch in profiled(command, (*SAME.values(), *FACTS), ncu=tool) if launch.kernel in kernels]
    if len(on_gpu) != len(counted):
        raise Unsupported(f"Nsight Compute counted {len(on_gpu)} launches, the simulator {len(counted)}")
    facts = tuple(map(_facts, counted, on_gpu))
    return SubmissionProfile(entry.name, entry.exercise.simulated, gpu.name, tuple(rows(counted, on_gpu)), facts)


def rows(counted: Sequence[LaunchRecord], on_gpu: Sequence[ProfiledLaunch]) -> Iterator[ProfileRow]:
    """Sums over all launches on both sides, without counters that are zero on both, and two ratios of them."""
    simulator = {counter: sum(launch.counters.get(counter, 0.0) for launch in counted) for counter in SAME}
    profiler = {counter: _sum(on_gpu, metric) for counter, metric in SAME.items()}
    for counter, metric in SAME.items():
        if simulator[counter] or profiler[counter]:
            yield ProfileRow(counter, simulator[counter], profiler[counter], metric)
    for counter, above, below, factor in _RATIOS:
        ratio = _ratio(simulator, above, below, factor)
        if ratio is not None:
            yield ProfileRow(counter, ratio, _ratio(profiler, above, below, factor), "from the lines above")


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


def _sum(launches: Sequence[ProfiledLaunch], metric: str) -> float | None:
    values = [launch.metrics[metric] for launch in launches if metric in launch.metrics]
    return sum(values) if values else None


def _facts(launch: LaunchRecord, on_gpu: ProfiledLaunch) -> LaunchFacts:
    def part(metric: str) -> float | None:
        value = on_gpu.metrics.get(metric)
        return None if value is None else value / 100

    nanoseconds, registers = on_gpu.metrics.get(DURATION), on_gpu.metrics.get(REGISTERS)
    return LaunchFacts(
        launch.kernel, launch.grid, launch.block,
        None if nanoseconds is None else nanoseconds * 1e-9, part(DRAM), part(WARPS),
        None if registers is None else int(registers),
    )  # fmt: skip


# ----------------------------------------------------------------------------------------------------- the two sides


def simulated(program: Program, run: CaseRun) -> Sequence[LaunchRecord]:
    """The launches with the simulator's counters. Raises SubmissionError if one fails."""
    from grader.backends.base import Limits
    from grader.backends.sim.session import SimBackend

    with SimBackend().open(program, Limits(launch_s=120.0, total_s=300.0)) as session:
        execution = session.run(run)
    if execution.failure:
        message = execution.diagnostics[0].message if execution.diagnostics else execution.failure
        hint = "`grade` explains it; profile it when it runs without errors"
        raise SubmissionError(execution.failure, message, hint=hint, diagnostics=execution.diagnostics)
    return execution.launches


def launching(name: str, path: Path, seed: int, *, device: int = 0, courses: Sequence[Path] = ()) -> list[str]:
    """The command that launches a file once, for the profiler."""
    words = [sys.executable, "-m", "grader.bench.profile", name, str(path.absolute()), "--seed", str(seed)]
    return [*words, "--device", str(device), *(f"--course={course.absolute()}" for course in courses)]


def compiled(path: Path, entry: CourseExercise) -> Program:
    """The file, compiled as for the simulator."""
    return compile_source(read_submission(path), path.name, target="sm_80", headers=entry.header_texts)


def simulated_run(exercise: Exercise, program: Program, seed: int) -> CaseRun:
    """The case at the simulated size, with real inputs."""
    case = simulated_case(exercise)
    submission = CompiledSubmission(program, parse_launches(program.source, file=program.name))
    data = CaseData(make_inputs(exercise, case.size, seed, case.values), expected={})
    return case_run(exercise, case, data, plan_of(exercise, case, submission, DeviceLimits()))


def launch(program: Program, run: CaseRun, device: int = 0) -> None:
    """Run the plan's launches on the GPU, with the grader's own loader."""
    from grader.backends.gpu.arena import Arena
    from grader.backends.gpu.cuda import Cuda
    from grader.backends.gpu.program import LoadedProgram
    from grader.backends.gpu.wire import shapes_of

    cuda = Cuda(device)
    arena = Arena(cuda)
    arena.lay_out(shapes_of(run.buffers))
    for buffer in run.buffers:
        if buffer.data is not None:
            arena.upload(buffer.name, buffer.data)
    loaded = LoadedProgram(cuda, assemble(program, detect(device).arch), program.entries)
    loaded.set_constants(run.plan.constants, arena)
    loaded.prepare(run.plan)
    loaded.queue(run.plan, arena)
    cuda.synchronise()


def main() -> None:
    """Parse the command line and launch."""
    from grader.catalog.exercises import load_catalog

    arguments = argparse.ArgumentParser(description="Launch one submission once, for a profiler.")
    arguments.add_argument("name")
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--course", type=Path, action="append", default=[])
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--device", type=int, default=0)
    options = arguments.parse_args()
    entry = load_catalog(options.course).find(options.name)
    program = compiled(options.file, entry)
    launch(program, simulated_run(entry.exercise, program, options.seed), options.device)


# ----------------------------------------------------------------------------------------------------- Nsight Compute

INSTALL = "install Nsight Compute: it is part of the CUDA toolkit, and a separate download on developer.nvidia.com"
NO_PERMISSION = "ERR_NVGPUCTRPERM"
PERMISSION = (
    "run as root, or let all users read the counters: put `options nvidia NVreg_RestrictProfilingToAdminUsers=0` into "
    "/etc/modprobe.d/ and restart; in a container also `--cap-add SYS_ADMIN` (developer.nvidia.com/ERR_NVGPUCTRPERM)"
)
DEADLINE_S = 300.0


@dataclass(frozen=True)
class ProfiledLaunch:
    """One kernel launch with Nsight Compute's metrics, without those that this GPU does not have."""

    kernel: str
    metrics: Mapping[str, float]


def find_ncu(given: str | None = None) -> str:
    """The path of ``ncu``: as given, else on PATH, in CUDA_PATH, or in the usual folders. Raises Unsupported."""
    if given is not None:
        program = shutil.which(given)
        if program is None:
            raise Unsupported(f"{given} is not an executable program", hint="--ncu names the program ncu itself")
        return program
    roots = [os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    installed = sorted(Path("/opt/nvidia/nsight-compute").glob("*"), reverse=True)
    places = [shutil.which("ncu"), *(f"{root}/bin/ncu" for root in roots if root), *(f"{p}/ncu" for p in installed)]
    for path in places:
        if path and Path(path).is_file():
            return path
    raise Unsupported("Nsight Compute (ncu) was not found", hint=INSTALL)


def profiled(command: Sequence[str], metrics: Sequence[str], *, ncu: str | None = None) -> list[ProfiledLaunch]:
    """Run ``command`` under Nsight Compute; returns its launches in order.

    Raises Unsupported, with a hint, if ncu is missing, has no permission, takes too long or fails.
    """
    tool = find_ncu(ncu)
    with tempfile.TemporaryDirectory(prefix="warpgrade-") as folder:
        log = Path(folder) / "ncu.csv"
        options = ["--clock-control", "none", "--target-processes", "all", "--metrics", ",".join(metrics)]
        layout = ["--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log)]
        code, output = _run([tool, *options, *layout, *command])
        text = log.read_text(errors="replace") if log.is_file() else ""
    if NO_PERMISSION in text + output:
        raise Unsupported("Nsight Compute may not read this GPU's counters", hint=PERMISSION)
    if code:
        why = (output.strip() or text.strip())[-600:]
        raise Unsupported(f"Nsight Compute ended with exit code {code}: {why}")
    return parse(text)


def _run(command: Sequence[str]) -> tuple[int, str]:
    """Exit code and output. A run that takes too long is killed: a kernel may hang."""
    import psutil

    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
    except OSError as error:
        raise Unsupported(f"{command[0]} cannot be run: {error.strerror}", hint=INSTALL) from None
    with process:
        try:
            output, _ = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            parent = psutil.Process(process.pid)
            for member in (*parent.children(recursive=True), parent):  # children would keep the output open
                with suppress(psutil.NoSuchProcess):
                    member.kill()
            raise Unsupported(f"Nsight Compute did not end within {DEADLINE_S:.0f} s") from None
    return process.returncode, output


def parse(text: str) -> list[ProfiledLaunch]:
    """One record for each launch, in order, from either of the two layouts of ncu's versions."""
    rows = list(csv.DictReader(line for line in text.splitlines() if line.startswith('"')))
    if not rows or "Metric Name" not in rows[0]:  # one row for each launch
        return [ProfiledLaunch(row.get("Kernel Name", ""), _numbers(row)) for row in rows if row.get("ID")]
    launches: dict[str, tuple[str, dict[str, str]]] = {}
    for row in rows:  # one row for each metric of each launch
        _, metrics = launches.setdefault(row.get("ID", ""), (row.get("Kernel Name", ""), {}))
        metrics[row["Metric Name"]] = row.get("Metric Value", "")
    return [ProfiledLaunch(kernel, _numbers(metrics)) for kernel, metrics in launches.values()]


def _numbers(row: Mapping[str, str | None]) -> dict[str, float]:
    """The cells that are metrics (their names contain two underscores) and have a number."""
    numbers = {}
    for name, text in row.items():
        try:
            number = float(text.replace(",", "")) if name and "__" in name and text else nan
        except ValueError:
            continue
        if isfinite(number):  # ncu prints nan for what it could not measure
            numbers[name] = number
    return numbers


if __name__ == "__main__":
    main()
