"""What timing one submission needs, put together from the exercise, its course and the GPU. Parent side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.backends.gpu import checks
from grader.backends.gpu.ceilings import Sized, sized
from grader.backends.gpu.reference import device_data, find
from grader.backends.gpu.support import cubin, target_of
from grader.backends.gpu.wire import Shape, TimedRun
from grader.errors import GraderFault
from grader.expressions import evaluate
from grader.inputs import derive_seed, element_count
from grader.timing import roofline

if TYPE_CHECKING:
    from grader.catalog.exercises import CourseExercise
    from grader.compile import Program
    from grader.exercise import Exercise, Size
    from grader.gpus.detect import Gpu
    from grader.launch import LaunchPlan
    from grader.timing.roofline import Peaks
    from grader.verdict import Roof


@dataclass(frozen=True)
class Setup:
    """One timed size on one GPU. ``work`` is in bytes or operations, as the target's unit counts; ``peak`` is per
    second; ``bytes_and_flops`` is all of the work.
    """

    run: TimedRun
    modules: Mapping[str, bytes]
    size: Size
    work: float
    ceiling_work: float
    peak: float | None
    bytes_and_flops: tuple[float, float]
    unit: str
    limits: Peaks

    @property
    def published(self) -> bool:
        return self.limits.published

    @property
    def limit(self) -> float | None:
        """The rate that no kernel can pass."""
        return roofline.limit_of(self.unit, self.limits)

    def roof(self, median_s: float) -> Roof | None:
        return roofline.roof(*self.bytes_and_flops, median_s, self.unit, self.limits)


def prepare(entry: CourseExercise, program: Program, gpu: Gpu, seed: int, *, samples: int = 30) -> Setup:
    """Everything for timing ``program`` at the exercise's timed size.

    Raises SubmissionError ``invalid`` where its launch lines do not fit that size, GraderFault where the course lacks
    the trusted check.
    """
    from grader.launch import parse_launches, resolve_launches

    exercise = entry.exercise
    assert exercise.timed is not None
    script = parse_launches(program.source, file=program.name)
    plan = resolve_launches(script, exercise, exercise.timed, gpu.limits, program)
    ceiling = ceiling_of(entry, gpu)
    run, modules = _checked_run(entry, plan, gpu, seed)
    return _setup(exercise, exercise.timed, _with_ceiling(run, ceiling, samples), modules, gpu, entry, ceiling)


def _checked_run(entry: CourseExercise, plan: LaunchPlan, gpu: Gpu, seed: int) -> tuple[TimedRun, dict[str, bytes]]:
    """The timed run with its generators and checks, and their assembled files."""
    exercise, data = entry.exercise, device_data(entry.course)
    assert exercise.timed is not None
    name = exercise.checker or exercise.oracle
    found = find(entry.course, "device", "CHECKS", name)
    if found is None:
        raise GraderFault(f"kernels_ref/device has no check {name!r} for timed outputs of {exercise.name}")
    check, folder = found
    secret = derive_seed(seed, "timed", exercise.name)
    trusted = checks.Plan(exercise, exercise.timed, secret, check, data.GENERATED_TYPES)
    run = TimedRun(
        plan=plan,
        shapes=_shapes(exercise, exercise.timed, plan),
        variants=trusted.variants(),
        inputs=tuple(array.name for array in exercise.inputs),
        judged=exercise.outputs[0].name,
        work_bytes=trusted.work_bytes,
    )
    generator = Path(str(data.__file__)).with_name(data.GENERATOR)
    check_source = checks.joined_source([(folder / source).read_text() for source in check.sources])
    modules = {
        "generate": cubin(generator.read_text(), generator.name, gpu.arch, target_of(gpu)),
        "check": cubin(check_source, check.sources[-1], gpu.arch, target_of(gpu)),
    }
    return run, modules


def _with_ceiling(run: TimedRun, ceiling: tuple[Sized, Path] | None, samples: int) -> TimedRun:
    from dataclasses import replace

    if ceiling is None:
        return replace(run, samples=samples)
    return replace(run, samples=samples, ceiling=ceiling[0].launches, ceiling_bytes=ceiling[0].bytes)


def ceiling_of(entry: CourseExercise, gpu: Gpu) -> tuple[Sized, Path] | None:
    """The target's ceiling at the timed size, and its file; None where the exercise names none that has a kernel."""
    exercise = entry.exercise
    if exercise.target is None or not exercise.target.ceiling or exercise.timed is None:
        return None
    name = exercise.target.ceiling
    found = find(entry.course, "ceilings", "CEILINGS", name)
    if found is None:
        raise GraderFault(f"kernels_ref/ceilings has no {name!r}, which {exercise.name} names")
    ceiling, folder = found
    work = [float(evaluate(text, exercise.timed)) for text in (exercise.work.bytes, exercise.work.flops)]
    found_size = sized(name, ceiling, work[0], work[1], gpu.sm_count)
    return (found_size, folder / ceiling.file) if found_size.launches and not found_size.host_bytes else None


def _setup(
    exercise: Exercise,
    size: Size,
    run: TimedRun,
    modules: dict[str, bytes],
    gpu: Gpu,
    entry: CourseExercise,
    ceiling: tuple[Sized, Path] | None,
) -> Setup:
    limits = roofline.peaks(gpu)
    unit = exercise.target.unit if exercise.target else "bandwidth"
    if ceiling is not None:
        file = ceiling[1]
        modules |= {"ceiling": cubin(file.read_text(), file.name, gpu.arch, target_of(gpu))}
    return Setup(
        run=run,
        modules=modules,
        size=size,
        work=float(evaluate(roofline.work_in(exercise.work, unit), size)),
        ceiling_work=ceiling[0].work if ceiling else 0.0,
        peak=roofline.peak_of(unit, limits),
        bytes_and_flops=(float(evaluate(exercise.work.bytes, size)), float(evaluate(exercise.work.flops, size))),
        unit=unit,
        limits=limits,
    )


def _shapes(exercise: Exercise, size: Size, plan: LaunchPlan) -> tuple[Shape, ...]:
    arrays = (Shape(a.name, a.dtype, element_count(a, size), a.role) for a in exercise.arrays)
    return (*arrays, *(Shape(s.name, s.dtype, s.count, "scratch") for s in plan.scratch))
