"""Launch one submission once at its simulated size, in this process, for a profiler to watch.

python -m grader.bench.launch_once NAME FILE [--course DIR]… [--seed N] [--device N]

The launches are those that the simulator runs: the plan is made for the simulated device, so that a grid sized from
`sm_count` is the same here and there.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.backends.base import CaseRun
    from grader.compile import Program
    from grader.exercise import Exercise

TARGET = "sm_80"


def compiled(path: Path) -> Program:
    """The file, compiled as for the simulator."""
    from grader.compile import compile_source, read_submission

    return compile_source(read_submission(path), path.name, target=TARGET)


def simulated_run(exercise: Exercise, program: Program, seed: int) -> CaseRun:
    """The case at the simulated size, with real inputs."""
    from grader.grading.cases import CaseData, case_run, plan_of, simulated_case
    from grader.grading.records import CompiledSubmission
    from grader.inputs import make_inputs
    from grader.launch import DeviceLimits, parse_launches

    case = simulated_case(exercise)
    submission = CompiledSubmission(program, parse_launches(program.source, file=program.name))
    data = CaseData(make_inputs(exercise, case.size, seed, case.values), expected={})
    return case_run(exercise, case, data, plan_of(exercise, case, submission, DeviceLimits()))


def launch(program: Program, run: CaseRun, device: int = 0) -> None:
    """The plan's launches on the GPU, by the grader's own loader."""
    from grader.backends.gpu.arena import Arena
    from grader.backends.gpu.cuda import Cuda
    from grader.backends.gpu.program import LoadedProgram
    from grader.backends.gpu.wire import shapes_of
    from grader.compile import assemble
    from grader.gpus.detect import detect

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
    """Read the command line and launch."""
    from grader.catalog.exercises import load_catalog

    arguments = argparse.ArgumentParser(description="Launch one submission once, for a profiler.")
    arguments.add_argument("name")
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--course", type=Path, action="append", default=[])
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--device", type=int, default=0)
    given = arguments.parse_args()
    exercise = load_catalog(given.course).find(given.name).exercise
    program = compiled(given.file)
    launch(program, simulated_run(exercise, program, given.seed), given.device)


if __name__ == "__main__":
    main()
