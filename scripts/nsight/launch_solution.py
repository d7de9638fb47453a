"""Launch one exercise's solution once at its simulated size, in this process, for a profiler to watch.

python scripts/nsight/launch_solution.py NAME [--seed N]

The launches are those that the simulator runs: the plan is made for the simulated device, so that a grid sized from
`sm_count` is the same here and there.
"""

from __future__ import annotations

import argparse

from grader.backends.base import Buffer, CaseRun
from grader.catalog import CourseExercise, load_catalog
from grader.compile import Program, compile_source
from grader.inputs import element_count, make_inputs
from grader.launch import parse_launches

TARGET = "sm_80"


def compiled(one: CourseExercise) -> Program:
    """The solution, compiled as for the simulator."""
    assert one.solution is not None
    return compile_source(one.solution.read_bytes(), one.solution.name, target=TARGET)


def simulated_run(one: CourseExercise, program: Program, seed: int) -> CaseRun:
    """The case at the simulated size, with real inputs."""
    exercise = one.exercise
    plan = parse_launches(program.source, file=program.name).resolve(exercise, exercise.simulated, program=program)
    data = make_inputs(exercise, exercise.simulated, seed, "real")
    buffers = [Buffer(a.name, a.dtype, len(data[a.name]), "in", data[a.name]) for a in exercise.inputs]
    buffers += [Buffer(a.name, a.dtype, element_count(a, exercise.simulated), "out") for a in exercise.outputs]
    buffers += [Buffer(s.name, s.dtype, s.count, "scratch") for s in plan.scratch]
    return CaseRun(plan, tuple(buffers))


def launch_on_gpu(program: Program, run: CaseRun) -> None:
    """The plan's launches on GPU 0, by the grader's own loader."""
    from grader.backends.gpu.arena import Arena
    from grader.backends.gpu.cuda import Cuda
    from grader.backends.gpu.program import LoadedProgram
    from grader.backends.gpu.wire import shapes_of
    from grader.compile import assemble
    from grader.device import detect

    cuda = Cuda(0)
    arena = Arena(cuda)
    arena.lay_out(shapes_of(run.buffers))
    for buffer in run.buffers:
        if buffer.data is not None:
            arena.upload(buffer.name, buffer.data)
    loaded = LoadedProgram(cuda, assemble(program, detect(0).arch), program.entries)
    loaded.set_constants(run.plan.constants, arena.layout.places, arena.base)
    loaded.prepare(run.plan)
    loaded.queue(run.plan, arena.addresses(), arena.sizes())
    cuda.synchronise()


def main() -> None:
    arguments = argparse.ArgumentParser(description="Launch one solution once, for a profiler.")
    arguments.add_argument("name")
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    one = load_catalog().find(given.name)
    program = compiled(one)
    launch_on_gpu(program, simulated_run(one, program, given.seed))


if __name__ == "__main__":
    main()
