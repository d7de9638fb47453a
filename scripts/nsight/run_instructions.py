"""Hold the counters of instructions against Nsight Compute's, one kind of instruction at a time.

python scripts/nsight/run_instructions.py [--out FILE.md] [--ncu PATH] [--also METRIC,…] [--simulator-only]

Launches every kernel of scripts/nsight/instructions.cu, 4 warps with all lanes active, on the simulator and under ncu,
and prints a table: instructions of each kind per warp and round of the kernel's loop. docs/counters.md explains where
the two differ. Needs a GPU and ncu, or --simulator-only.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from grader.compile import Program, assemble, compile_source

SOURCE = Path(__file__).with_name("instructions.cu")
WARPS, ROUNDS, LANES = 4, 16, 32
COUNT = WARPS * LANES
SLACK = 64
"""Elements beyond those that a thread owns."""
INPUT = np.full(2 * (COUNT + SLACK), 1.5, np.float32)
"""Divisions of it take their fast path, as ordinary numbers do."""

METRICS: Mapping[str, tuple[str, ...]] = {
    "special_function_instructions": ("smsp__inst_executed_pipe_xu.sum",),
    "f64_instructions": ("smsp__inst_executed_pipe_fp64.sum",),
    "slow_divisions": (),
    "integer_instructions": ("smsp__sass_thread_inst_executed_op_integer_pred_on.sum",),
    "wmma_instructions": ("sm__inst_executed_pipe_tensor.sum",),
    "constant_excess_wavefronts": ("sm__idc_divergent_instruction_replays.sum",),
    "local_bytes": ("smsp__sass_data_bytes_mem_local_op_ld.sum", "smsp__sass_data_bytes_mem_local_op_st.sum"),
}
"""The profiler's metrics whose sum is comparable; those of threads are divided by the lanes of a warp."""


def simulated(program: Program) -> dict[str, Mapping[str, float]]:
    """The simulator's counters of each kernel."""
    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.ptx import parse
    from grader.simt.simulate import Call, Memory, Options, simulate

    memories = [Memory(name, INPUT.view(np.uint8), True) for name in ("x", "y")]
    calls = [Call(entry.name, (1, 1, 1), (COUNT, 1, 1), 0, ("x", "y")) for entry in program.entries]
    options = Options(observed=frozenset({"divergence", "coalescing"}))
    outcome = simulate(parse(program.ptx), memories, calls, cache=CodeCache(program.key), options=options)
    assert outcome.complete, outcome.events
    return {call.kernel: counters.total for call, counters in zip(calls, outcome.counters, strict=True)}


def launch(program: Program) -> None:
    """Launch each kernel once; the profiler watches this process."""
    import cupy

    from grader.gpus.detect import detect

    module = cupy.cuda.function.Module()
    module.load(assemble(program, detect(0).arch))
    x, y = (cupy.asarray(INPUT) for _ in range(2))
    for entry in program.entries:
        module.get_function(entry.name)((1,), (COUNT,), (x, y))
    cupy.cuda.Device().synchronize()


def table(counted: Mapping[str, Mapping[str, float]], profiled: Mapping[str, Mapping[str, float]]) -> str:
    """A row for each kernel: `simulator / profiler`, per warp and round; local bytes per thread."""
    lines = [f"| kernel | {' | '.join(METRICS)} |", f"|---{'|---' * len(METRICS)}|"]
    for kernel, counters in counted.items():
        cells = [_cell(counter, counters, profiled.get(kernel, {})) for counter in METRICS]
        lines.append(f"| {kernel} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(counter: str, counters: Mapping[str, float], theirs: Mapping[str, float]) -> str:
    metrics = METRICS[counter]
    scale = 1 / COUNT if counter == "local_bytes" else 1 / WARPS / ROUNDS
    threads = LANES if any("thread_inst" in metric for metric in metrics) else 1
    mine = counters.get(counter, 0.0) * scale
    told = sum(theirs.get(metric, 0.0) for metric in metrics) * scale / threads
    if not mine and not told:
        return ""
    return f"{mine:.3g} / {f'{told:.3g}' if metrics and theirs else '–'}"


def main() -> None:
    arguments = argparse.ArgumentParser(description="Hold the counters of instructions against Nsight Compute's.")
    arguments.add_argument("--out", type=Path)
    arguments.add_argument("--ncu")
    arguments.add_argument("--simulator-only", action="store_true")
    arguments.add_argument("--also", default="", help="further metrics, with commas between them: printed as they are")
    arguments.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    program = compile_source(SOURCE.read_bytes(), SOURCE.name)
    if given.launch:
        launch(program)
        return
    theirs: dict[str, Mapping[str, float]] = {}
    if not given.simulator_only:
        from grader.bench.profile import find_ncu, profiled

        command = [sys.executable, str(Path(__file__).resolve()), "--launch"]
        metrics = [*(metric for names in METRICS.values() for metric in names), *filter(None, given.also.split(","))]
        theirs = {found.kernel: found.metrics for found in profiled(command, metrics, ncu=find_ncu(given.ncu))}
        for kernel, found in theirs.items():
            further = {name: found[name] / WARPS / ROUNDS for name in given.also.split(",") if found.get(name)}
            if further:
                print(kernel, *(f"{name}={value:.3g}" for name, value in further.items()))
    text = table(simulated(program), theirs)
    print(text)
    if given.out:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
