"""Everything for timing one submission, from the exercise, its course and the GPU. Parent side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.backends.gpu import checks
from grader.backends.gpu.faults import size_in_words
from grader.backends.gpu.reference import cubin, device_data, find, target_of
from grader.backends.gpu.wire import LaunchShape, TimedRun, Trusted
from grader.c_types import DTYPE_BYTES
from grader.errors import GraderFault
from grader.expressions import cdiv, evaluate, evaluate_integer
from grader.frozen import dataclass
from grader.inputs import derive_seed, element_count
from grader.timing import roofline

if TYPE_CHECKING:
    from grader.catalog.courses import CourseExercise
    from grader.compile import Program
    from grader.exercise import Exercise, Size
    from grader.gpus.detect import Gpu
    from grader.timing.roofline import Peaks
    from grader.verdict import Roof


@dataclass(frozen=True)
class Setup:
    """One timed size on one GPU. ``work`` is in the target's unit (bytes or operations), ``peak`` in this unit per
    second; ``bytes_and_flops`` is the whole work.
    """

    run: TimedRun
    modules: Mapping[str, bytes]
    where: str  # at which size, in messages
    work: float
    ceiling_work: float
    peak: float | None
    bytes_and_flops: tuple[float, float]
    unit: str
    limits: Peaks

    @property
    def memory_bytes(self) -> int:
        """What its arrays and their check need."""
        return sum(DTYPE_BYTES[shape.dtype] * shape.count for shape in self.run.shapes) + self.run.work_bytes

    @property
    def published(self) -> bool:
        return self.limits.published

    @property
    def limit(self) -> float | None:
        """The rate that no kernel can exceed, in the unit per second; None if unknown."""
        return roofline.limit_of(self.unit, self.limits)

    def roof(self, median_s: float) -> Roof | None:
        return roofline.roof(*self.bytes_and_flops, median_s, self.unit, self.limits)


@dataclass(frozen=True)
class Untimed:
    """A size at which a submission is only verified; its name is for messages: ``secret``, ``large``."""

    name: str
    size: Size


def prepare(
    entry: CourseExercise, program: Program, gpu: Gpu, seed: int, *, samples: int = 24, untimed: Untimed | None = None
) -> Setup:
    """Everything for timing ``program`` at the exercise's timed size, or only for verifying it at another one.

    Raises SubmissionError ``invalid`` if its launch lines do not fit that size, GraderFault if the course lacks the
    trusted check.
    """
    from grader.launch import parse_launches, resolve_launches

    exercise, data = entry.exercise, device_data(entry.course)
    size, name = (untimed.size, untimed.name) if untimed else (exercise.timed, "timed")
    assert size is not None
    script = parse_launches(program.source, file=program.name)
    plan = resolve_launches(script, exercise, size, gpu.limits, program)
    ceiling, ceiling_file = (None if untimed else ceiling_of(entry, exercise, size, gpu)) or (None, None)
    checker = exercise.checker or exercise.oracle
    found = find(entry.course, "device", "CHECKS", checker)
    if found is None:
        raise GraderFault(f"kernels_ref/device has no check {checker!r} for timed outputs of {exercise.name}")
    check, folder = found
    generator = Path(str(data.__file__)).with_name(data.GENERATOR)
    check_source = "\n".join((folder / source).read_text() for source in check.sources)  # compiled together, in order
    modules = {
        "generate": cubin(generator.read_text(), generator.name, gpu.arch, target_of(gpu)),
        "check": cubin(check_source, check.sources[-1], gpu.arch, target_of(gpu)),
    }
    if ceiling_file is not None:
        modules["ceiling"] = cubin(ceiling_file.read_text(), ceiling_file.name, gpu.arch, target_of(gpu))
    secret = derive_seed(seed, f"{name} size" if untimed else "timed", exercise.name)
    variants, work_bytes = checks.variants(exercise, size, secret, check, data.GENERATED_TYPES)
    arrays = [LaunchShape(a.name, a.dtype, element_count(a, size), a.role) for a in exercise.arrays]
    run = TimedRun(
        plan=plan,
        shapes=(*arrays, *(LaunchShape(s.name, s.dtype, s.count, "scratch") for s in plan.scratch)),
        variants=variants,
        inputs=tuple(array.name for array in exercise.inputs),
        work_bytes=work_bytes,
        ceiling=ceiling.launches if ceiling else (),
        ceiling_bytes=ceiling.bytes if ceiling else 0,
        samples=samples,
        warm=exercise.target is not None and exercise.target.warm,
    )
    unit = exercise.target.unit if exercise.target else "bandwidth"
    limits = roofline.peaks(gpu)
    return Setup(
        run=run,
        modules=modules,
        where=f"at the {name} size {size_in_words(size)}",
        work=roofline.work_of(exercise, size),
        ceiling_work=ceiling.work if ceiling else 0.0,
        peak=roofline.peak_of(unit, limits),
        bytes_and_flops=(float(evaluate(exercise.work.bytes, size)), float(evaluate(exercise.work.flops, size))),
        unit=unit,
        limits=limits,
    )


# ---------------------------------------------------------------------------------------------------------- ceilings

SINK_BYTES = 256


@dataclass(frozen=True)
class Sized:
    """A ceiling with all expressions evaluated. ``bytes`` and ``host_bytes`` are the memory of its arrays."""

    work: float  # in the ceiling's unit
    launches: tuple[Trusted, ...]  # (): the ceiling is a copy from the first array to the second
    bytes: int
    host_bytes: int
    arrays: tuple[tuple[str, int, int, str], ...]  # name, offset in its memory, bytes, "device" | "host"


def sized(ceiling: Any, work_bytes: float, work_flops: float, sm_count: int) -> Sized:
    """The ceiling for a task that moves ``work_bytes`` and computes ``work_flops``: the simplest kernel with the same
    work.

    ``ceiling`` is an entry of `kernels_ref/ceilings`, whose docstring explains its expressions.
    """
    numbers: dict[str, int | float] = {"bytes": int(work_bytes), "flops": int(work_flops), "sm_count": sm_count}
    for number, expression in ceiling.numbers:
        numbers[number] = evaluate(expression, numbers)
    ends = {"device": 0, "host": 0}
    arrays = []
    for array in ceiling.arrays:
        size = evaluate_integer(array.bytes, numbers)
        arrays.append((array.name, ends[array.memory], size, array.memory))
        ends[array.memory] += 256 * cdiv(size, 256)
    launches = []
    if ceiling.kernel:
        names: dict[str, tuple[str, int | float]] = {
            name: ("f32" if isinstance(value, float) else "i64", value) for name, value in numbers.items()
        }
        names |= {name: ("host" if memory == "host" else "ceiling", offset) for name, offset, _, memory in arrays}
        names["sink"] = ("ceiling", ends["device"])
        grid = evaluate_integer(ceiling.grid, numbers)
        args = tuple(names[arg] for arg in ceiling.args)
        launches.append(Trusted("ceiling", ceiling.kernel, (grid, 1, 1), (ceiling.block, 1, 1), args))
    return Sized(
        work=float(evaluate(ceiling.work, numbers)),
        launches=tuple(launches),
        bytes=ends["device"] + SINK_BYTES,
        host_bytes=ends["host"],
        arrays=tuple(arrays),
    )


def ceiling_of(entry: CourseExercise, exercise: Exercise, size: Size, gpu: Gpu) -> tuple[Sized, Path] | None:
    """The target's ceiling at the timed size, and its file; None if it has none, or none with a kernel on the GPU."""
    if exercise.target is None or not exercise.target.ceiling:
        return None
    name = exercise.target.ceiling
    found = find(entry.course, "ceilings", "CEILINGS", name)
    if found is None:
        raise GraderFault(f"kernels_ref/ceilings has no {name!r}, which {exercise.name} names")
    ceiling, folder = found
    work_bytes, work_flops = (float(evaluate(text, size)) for text in (exercise.work.bytes, exercise.work.flops))
    if exercise.target.unit == "shared":
        work_bytes = roofline.work_of(exercise, size)
    here = sized(ceiling, work_bytes, work_flops, gpu.sm_count)
    return (here, folder / ceiling.file) if here.launches and not here.host_bytes else None
