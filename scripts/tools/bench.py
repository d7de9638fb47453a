"""How fast the simulator and the commands are here, beside NumPy doing the same work and beside the targets.

python scripts/tools/bench.py [--runs N]
python scripts/tools/bench.py --cold [NAME …] [--backend sim|gpu|auto …]

Kernels work on 2^20 floats in blocks of 256; compilation is not part of their times. Commands are whole processes,
from nothing to the last line of output; "empty" and "warm" is warpgrade's own cache.

`--cold` measures what a person waits for who has edited a file: `grade NAME` as a process of its own, on the simulator
or on the backends that are named, with a file whose PTX nobody has seen and otherwise warm caches, beside the same file
once more. On a busy machine the
processor time (of all processes together) and the best of the wall times tell more than the median.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from grader.compile import compile_source
from grader.simt.engine.code_cache import CodeCache
from grader.simt.engine.device import Device
from grader.simt.observers import OBSERVERS
from grader.simt.ptx import Module, parse

Floats = npt.NDArray[np.float32]

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "scripts" / "bench_kernels"
N, BLOCK = 1 << 20, 256
THREADS = (1, 2)
SETS: Mapping[str, frozenset[str]] = {"off": frozenset(), "all": frozenset(OBSERVERS)}
MOST_OBSERVED = 3.0
"""How many times as long a kernel may take with all observers on."""


@dataclass(frozen=True)
class Task:
    """A kernel, its arrays, and the same work in NumPy. ``target_s`` is for no observers and the most threads."""

    name: str
    inputs: Mapping[str, Floats]
    outputs: int
    numpy: Callable[..., Floats]
    target_s: float


@dataclass(frozen=True)
class Times:
    """What several runs took; far apart, something else used the machine."""

    median_s: float
    best_s: float


@dataclass(frozen=True)
class Row:
    """One line of the table. ``target_s`` is for the median, None where none is set."""

    what: str
    times: Times
    numpy_s: float | None = None
    target_s: float | None = None


def main() -> int:
    """Measure and print; the exit code is 1 if a target is missed."""
    arguments = argparse.ArgumentParser(description="Measure the simulator and the commands.")
    arguments.add_argument("--runs", type=int, help="samples; the median counts (15 of a kernel, 5 of an edited file)")
    arguments.add_argument("--cold", nargs="*", metavar="NAME", help="only an edited file's first grading, of these")
    arguments.add_argument(
        "--backend", nargs="+", default=["sim"], choices=[*COLD_TARGETS_S], help="where, with --cold"
    )
    given = arguments.parse_args()
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{platform.machine()}, {cpus} processors, Python {platform.python_version()}, {N} floats\n")
    if given.cold is not None:
        print(cold_table(given.cold or [*COLD_TARGETS_S["sim"]], given.backend, given.runs or COLD_RUNS))
        return 0
    rows = [*kernel_rows(given.runs or KERNEL_RUNS), *command_rows()]
    print(table(rows))
    return 1 if any(missed(row) for row in rows) else 0


# -------------------------------------------------------------------------------------------------------------- kernels


def tasks() -> tuple[Task, ...]:
    """Make the two kernels' inputs."""
    draw = np.random.default_rng(0)
    a, b = (draw.random(N, dtype=np.float32) for _ in range(2))
    return (
        Task("vector_add", {"a": a, "b": b}, N, lambda a, b: np.add(a, b), 0.005),
        Task("block_sum", {"x": a}, N // BLOCK, lambda x: x.reshape(-1, BLOCK).sum(1), 0.015),
    )


def kernel_rows(runs: int) -> Iterator[Row]:
    """Measure every kernel with every number of threads, observers off and on."""
    for task in tasks():
        module = parse(compile_source((KERNELS / f"{task.name}.cu").read_bytes(), f"{task.name}.cu").ptx)
        numpy_s = times_of(runs, partial(task.numpy, *task.inputs.values())).median_s
        for threads in THREADS:
            plain = launch_times(task, module, threads, SETS["off"], runs)
            watched = launch_times(task, module, threads, SETS["all"], runs)
            last = threads == THREADS[-1]
            what = f"{task.name}, {threads} thread{'s' * (threads > 1)}"
            yield Row(what, plain, numpy_s, task.target_s if last else None)
            name = f"{what}, all observers (× {watched.median_s / plain.median_s:.1f})"
            yield Row(name, watched, numpy_s, MOST_OBSERVED * plain.median_s)


def launch_times(task: Task, module: Module, threads: int, observed: frozenset[str], runs: int) -> Times:
    """Return the times of a launch. Raises AssertionError where the result is not NumPy's."""
    device = Device(module, cache=CodeCache(task.name), threads=threads, observed=observed)
    places = [device.allocate(name, array) for name, array in task.inputs.items()]
    places.append(device.allocate("out", np.zeros(task.outputs, np.float32)))
    arguments = [*(struct.pack("<Q", place) for place in places), struct.pack("<i", N)]

    def launch() -> None:
        done = device.launch(task.name, (N // BLOCK, 1, 1), (BLOCK, 1, 1), 0, arguments, budget_per_block=10**8)
        assert not done.findings
        assert not done.rerun

    launch()  # compiles
    expected = task.numpy(*task.inputs.values())
    assert np.allclose(device.array("out").data.view(np.float32), expected, rtol=1e-5)
    return times_of(runs, launch)


# ------------------------------------------------------------------------------------------------------------- commands


def command_rows() -> Iterator[Row]:
    """Measure commands as whole processes."""
    yield Row("grade list", command_times(["list"], fresh=False), target_s=0.25)
    solution = ["reduce_v3", "--solution", "--backend", "sim"]
    yield Row("grade reduce_v3 --solution, empty cache", command_times(solution, fresh=True), target_s=3.0)
    yield Row("grade reduce_v3 --solution, warm cache", command_times(solution, fresh=False), target_s=1.5)


def command_times(words: list[str], *, fresh: bool, runs: int = 5) -> Times:
    """Return the times of a command; ``fresh``: with an empty cache of ours each time."""
    with tempfile.TemporaryDirectory() as folder:
        caches = iter(range(runs + 1))

        def run() -> None:
            cache = Path(folder, str(next(caches)) if fresh else "kept")
            run_command(words, cache)

        run()
        return times_of(runs, run)


def run_command(words: list[str], cache: Path) -> None:
    """Run ``grade WORDS`` with this cache, by a Python that keeps compiled modules, as a person's does."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        [sys.executable, "-m", "grader.cli", *words], check=True, stdout=subprocess.DEVNULL,
        env=environment | {"WARPGRADE_CACHE": str(cache)},
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------------- edited files

COLD_KERNELS = ("reduce_v3", "transpose_v4", "sgemm_v5", "hgemm_mma")
HOST_EXERCISES = ("streams_overlap", "cuda_graph", "zero_copy")
COLD_TARGETS_S: Mapping[str, Mapping[str, float]] = {
    "sim": dict(zip(COLD_KERNELS, (1.0, 1.2, 1.8, 3.0), strict=True)),
    "gpu": {name: 5.0 if name in HOST_EXERCISES else 1.5 for name in (*COLD_KERNELS, *HOST_EXERCISES)},
    "auto": {},  # half a second above the slower of the two others
}
COLD_RUNS = 5
KERNEL_RUNS = 15


def cold_table(names: Sequence[str], backends: Sequence[str], runs: int) -> str:
    """Grade each exercise's solution so often after an edit, and as often unedited."""
    head = ("what", "median", "best", "user + sys", "target")
    rows = [head, ("-" * 28, *["-----:"] * 4)]
    for name, backend in product(names, backends):
        edited, unedited = cold_samples(name, backend, runs)
        target = f"{COLD_TARGETS_S[backend][name]:.1f} s" if name in COLD_TARGETS_S[backend] else ""
        rows.append((f"{name}, {backend}, edited", *_cold_figures(edited), target))
        rows.append((f"{name}, {backend}, unedited", *_cold_figures(unedited), ""))
    return "\n".join("| " + " | ".join(f"{cell:>10}" if i else f"{cell:28}" for i, cell in enumerate(row)) + " |"
                     for row in rows)  # fmt: skip


def _cold_figures(samples: Sequence[tuple[float, float]]) -> tuple[str, str, str]:
    walls, used = zip(*samples, strict=True)
    return f"{statistics.median(walls):.2f} s", f"{min(walls):.2f} s", f"{statistics.median(used):.2f} s"


def cold_samples(name: str, backend: str, runs: int) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Wall and processor seconds of gradings after an edit each, and of gradings of the same file again."""
    found = next((ROOT / "solutions").rglob(f"{name}.cu"))
    solution, hostfile = found.read_text(), found.with_name(f"{name}_host.py")
    edited, unedited = [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{name}.cu")
        if hostfile.is_file():
            Path(folder, hostfile.name).write_bytes(hostfile.read_bytes())
        for number in range(runs + 1):  # the first one fills the other caches
            file.write_text(f"{solution}\n// edit {number}\n__device__ int edit_{number} = {number};\n")
            edited.append(_graded(name, backend, file))
            unedited.append(_graded(name, backend, file))
    return edited[1:], unedited[1:]


def _graded(name: str, backend: str, file: Path) -> tuple[float, float]:
    words = [name, "--file", str(file), "--backend", backend, "--no-record"]
    before, start = _children_s(), time.perf_counter()
    run_command(words, file.parent / "cache")
    return time.perf_counter() - start, _children_s() - before


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


# ---------------------------------------------------------------------------------------------------------------- table


def times_of(runs: int, work: Callable[[], object]) -> Times:
    """Run ``work`` several times."""
    samples = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        samples.append(time.perf_counter() - start)
    return Times(statistics.median(samples), min(samples))


def missed(row: Row) -> bool:
    return row.target_s is not None and row.times.median_s > row.target_s


def table(rows: list[Row]) -> str:
    """Return the rows as Markdown, which is also readable as it is."""
    lines = [
        f"| {'what':54} | {'median':>10} | {'best':>10} | {'NumPy':>10} | {'target':>10} | met |",
        f"|{'-' * 56}|{'|'.join(['-' * 11 + ':'] * 4)}|-----|",
    ]
    for row in rows:
        cells = (row.times.median_s, row.times.best_s, row.numpy_s, row.target_s)
        met = "" if row.target_s is None else "no" if missed(row) else "yes"
        lines.append(f"| {row.what:54} | {' | '.join(map(shown, cells))} | {met:3} |")
    return "\n".join(lines)


def shown(seconds: float | None) -> str:
    """Return a time in milliseconds, right-aligned."""
    return " " * 10 if seconds is None else f"{seconds * 1e3:7.2f} ms"


if __name__ == "__main__":
    sys.exit(main())
