"""`grade bench`: every solution beside the library and the ceiling, by one method in one run; `grade device`: ceilings.

report = bench(exercises, backend, seed)       frozen records
to_markdown(report)                            docs/results/<gpu>.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from grader.backends.base import Limits
from grader.backends.gpu.faults import size_in_words
from grader.backends.gpu.wire import Shape
from grader.bench.report import BenchReport, BenchRow, CeilingRow, LibraryTime, time_in_words
from grader.errors import WarpgradeError
from grader.gpus.models import capability
from grader.timing import roofline
from grader.timing.pass_lines import with_line

if TYPE_CHECKING:
    from grader.backends.gpu import GpuBackend
    from grader.backends.gpu.session import GpuSession
    from grader.catalog.exercises import CourseExercise
    from grader.compile import Program
    from grader.exercise import Target
    from grader.gpus.detect import Gpu
    from grader.verdict import Measurement

LIMITS = Limits(launch_s=20.0, total_s=120.0)
TABLE_BYTES = 1 << 30
"""Work of a bandwidth ceiling in `grade device`, in bytes: the sum over its arrays."""
TABLE_FLOPS = 1 << 38
LINK_BYTES = 256 << 20


def bench(
    exercises: Iterable[CourseExercise],
    backend: GpuBackend,
    seed: int,
    tell: Callable[[str], None] = lambda name: None,
    *,
    alone: bool = False,
) -> BenchReport:
    """Time the solution of every exercise that has a timed size. ``tell`` hears each name before it is measured.

    ``alone`` leaves further sizes and libraries out. A solution that fails becomes a row with its ``problem``.
    """
    rows = []
    for entry in exercises:
        if entry.exercise.timed is not None and entry.solution is not None:
            tell(entry.name)
            rows += [_row(sized, backend, seed) for sized in _sizes(_alone(entry) if alone else entry, backend.gpu)]
    return BenchReport(backend.gpu, versions(backend.gpu), _today(), tuple(rows))


def _alone(entry: CourseExercise) -> CourseExercise:
    return replace(entry, exercise=replace(entry.exercise, also_timed=(), baseline="", rivals=()))


def _sizes(entry: CourseExercise, gpu: Gpu) -> Iterator[CourseExercise]:
    """The exercise with its pass line on this GPU, then once for each further size, on which no line is drawn."""
    exercise = with_line(entry.exercise, gpu.name)
    yield replace(entry, exercise=exercise)
    for also in exercise.also_timed:
        target = replace(exercise.target, fraction=0.0, reach=also.reach) if exercise.target else None
        yield replace(entry, exercise=replace(exercise, timed=also.size, target=target))


def _row(entry: CourseExercise, backend: GpuBackend, seed: int) -> BenchRow:
    size = size_in_words(entry.exercise.timed or {})
    try:
        measure = _host_row if entry.exercise.host else _kernel_row
        return measure(entry, backend, seed, size)
    except WarpgradeError as error:
        return BenchRow(entry.name, size, problem=error.message)


def _kernel_row(entry: CourseExercise, backend: GpuBackend, seed: int, size: str) -> BenchRow:
    from grader.grading.fast import SpeedTest

    program = _compiled(entry, backend)
    with backend.open(program, LIMITS) as session:
        speed = SpeedTest(entry, backend, seed, LIMITS)(session)
    with backend.open_empty(LIMITS) as session:
        library = _libraries(entry, session, backend.gpu, program, seed)
    return _finished(entry, backend.gpu, size, speed, library)


def _host_row(entry: CourseExercise, backend: GpuBackend, seed: int, size: str) -> BenchRow:
    from grader.backends.gpu.hostfile.backend import HostfileBackend
    from grader.catalog.references import resolve_reference
    from grader.grading.fast_hostfile import HostfileSpeedTest

    assert entry.solution is not None
    host_file = entry.solution.with_name(f"{entry.name}_host.py")
    host = HostfileBackend(backend, entry.exercise, host_file.read_bytes(), host_file.name, course=entry.course)
    entry, size = replace(entry, exercise=host.exercise), size_in_words(host.exercise.timed or {})
    timer = HostfileSpeedTest(
        entry.exercise, host, lambda: resolve_reference(entry.exercise.oracle, entry.course), seed, LIMITS
    )
    with host.open(_compiled(entry, backend), LIMITS) as session:
        speed = timer(session)
    with backend.open_empty(LIMITS) as empty:
        library = _host_libraries(entry, empty)
    return _finished(entry, backend.gpu, size, speed, library)


def _finished(entry: CourseExercise, gpu: Gpu, size: str, speed: Any, library: Mapping[str, float]) -> BenchRow:
    target = entry.exercise.target
    if speed is None or target is None:
        return BenchRow(entry.name, size, problem="there is no target")
    return BenchRow(
        exercise=entry.name,
        size=size,
        word=speed.word,
        measured=speed.measured,
        ceiling_name=_ceiling_name(target, speed.measured),
        of=target.of,
        reach=target.reach,
        libraries=tuple(
            LibraryTime(name, seconds, _library_fraction(entry, gpu, speed.measured, seconds))
            for name, seconds in library.items()
        ),
        problem="" if speed.measured else speed.detail,
    )


def _ceiling_name(target: Target, measured: Measurement | None) -> str:
    """What stands behind the fraction of the ceiling: its name; the ideal time of an overlap; the time of a loop."""
    words = _AGAINST.get(target.unit)
    if words is None or measured is None or not measured.fraction_of_ceiling:
        return target.ceiling
    return words.format(time_in_words(measured.median_s * measured.fraction_of_ceiling))


_AGAINST = {"overlap": "of the ideal {}", "launches": "of the loop's {}"}


def _library_fraction(entry: CourseExercise, gpu: Gpu, measured: Measurement | None, library_s: float) -> float | None:
    """The library's rate on the same work, over the same peak (over the ceiling, where there is no peak)."""
    target, size = entry.exercise.target, entry.exercise.timed
    if target is None or size is None or measured is None:
        return None
    whole = roofline.peak_of(target.unit, roofline.peaks(gpu)) or measured.ceiling
    return roofline.rate(roofline.work_of(entry.exercise, size), library_s) / whole if whole else None


def _compiled(entry: CourseExercise, backend: GpuBackend) -> Program:
    from grader.backends.gpu.reference import target_of
    from grader.compile import compile_source, read_submission

    assert entry.solution is not None
    target = max(target_of(backend.gpu), entry.exercise.requires, key=capability)
    return compile_source(read_submission(entry.solution), entry.solution.name, target=target)


# ------------------------------------------------------------------------------------------------------- libraries


def _libraries(entry: CourseExercise, session: GpuSession, gpu: Gpu, program: Program, seed: int) -> dict[str, float]:
    """Each library's median time on the same arrays, by its name in kernels_ref/baselines; not those not installed."""
    from grader.backends.gpu.setup import prepare

    if not _library_names(entry):
        return {}
    setup = prepare(entry, program, gpu, seed)
    real = next(variant for variant in setup.run.variants if variant.kind == "real")
    shapes = [s for s in setup.run.shapes if s.role != "scratch"]
    common = {
        "host": False,
        "l2_bytes": gpu.l2_bytes,
        "generator": setup.modules["generate"],
        "generate": [asdict(launch) for launch in real.generate],
    }
    return _library_times(entry, session, shapes, common)


def _host_libraries(entry: CourseExercise, session: GpuSession) -> dict[str, float]:
    """As `_libraries`, for arrays in pinned host memory."""
    from grader.inputs import element_count

    size = entry.exercise.timed or {}
    shapes = [Shape(a.name, a.dtype, element_count(a, size), a.role) for a in entry.exercise.arrays]
    return _library_times(entry, session, shapes, {"host": True})


def _library_names(entry: CourseExercise) -> list[str]:
    return [name for name in (entry.exercise.baseline, *entry.exercise.rivals) if name]


def _library_times(
    entry: CourseExercise, session: GpuSession, shapes: list[Shape], common: Mapping[str, Any]
) -> dict[str, float]:
    found = {}
    for name in _library_names(entry):
        seconds = session.call({**_library_request(entry, name, shapes), **common}, LIMITS.launch_s)["seconds"]
        if seconds:
            found[name] = float(median(seconds))
    return found


def _library_request(entry: CourseExercise, name: str, shapes: list[Shape]) -> dict[str, Any]:
    from grader.backends.gpu.reference import baseline_source

    module, _, function = name.partition(":")
    size = entry.exercise.timed or {}
    return {
        "do": "library",
        "source": baseline_source(entry.course, module),
        "name": f"baselines/{module}.py",
        "function": function,
        "numbers": {**entry.exercise.scalars, **size},
        "shapes": [asdict(shape) for shape in shapes],
    }


# -------------------------------------------------------------------------------------------------------- ceilings


def measured_ceilings(course: Any, backend: GpuBackend) -> tuple[CeilingRow, ...]:
    """Every ceiling of the course on this GPU: 1 GiB of traffic, 2^38 operations, 256 MiB over the link."""
    from grader.backends.gpu.reference import ceiling_data

    data = ceiling_data(course)
    folder = Path(str(data.__file__)).parent
    with backend.open_empty(LIMITS) as session:
        return tuple(_ceiling_row(name, entry, folder, session, backend.gpu) for name, entry in data.CEILINGS.items())


def _ceiling_row(name: str, entry: Any, folder: Path, session: GpuSession, gpu: Gpu) -> CeilingRow:
    from grader.backends.gpu.reference import cubin, target_of
    from grader.backends.gpu.setup import sized

    on_the_link = any(array.memory == "host" for array in entry.arrays)
    found = sized(entry, LINK_BYTES if on_the_link else TABLE_BYTES, TABLE_FLOPS, gpu.sm_count)
    request: dict[str, Any] = {
        "do": "ceiling",
        "bytes": found.bytes,
        "host_bytes": found.host_bytes,
        "l2_bytes": gpu.l2_bytes,
        "launches": [asdict(launch) for launch in found.launches],
        "arrays": [list(array) for array in found.arrays],
    }
    if found.launches:
        request["cubin"] = cubin((folder / entry.file).read_text(), entry.file, gpu.arch, target_of(gpu))
    rate = roofline.ceiling(found.work, session.call(request, LIMITS.launch_s)["seconds"]) or 0.0
    return CeilingRow(
        name, entry.what, entry.unit, rate, None if on_the_link else _of_peak(entry.unit, name, rate, gpu)
    )


def _of_peak(unit: str, name: str, rate: float, gpu: Gpu) -> float | None:
    limits = roofline.peaks(gpu)
    flop = limits.fp16_tensor if name.startswith("mma") else limits.fp32
    peak = {"B": limits.bandwidth, "FLOP": flop, "OP": limits.int8}[unit]
    return rate / peak if peak else None


# -------------------------------------------------------------------------------------------------------- versions


def versions(gpu: Gpu) -> tuple[tuple[str, str], ...]:
    """What a measurement depends on, by name."""
    from importlib.metadata import PackageNotFoundError, version

    found = [("driver", gpu.driver), ("CUDA of the driver", gpu.cuda_driver)]
    for package in ("cupy-cuda12x", "cupy-cuda13x", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"):
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return tuple((name, text) for name, text in found if text)


def _today() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).date().isoformat()
