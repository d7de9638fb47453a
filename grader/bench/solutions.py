"""`grade bench`: every solution compared with libraries and ceilings, with one method in one run; `grade device`.

report = bench(exercises, backend, seed)       frozen records
to_markdown(report)                            docs/results/<gpu>.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from grader.backends.base import Limits
from grader.backends.gpu.faults import size_in_words
from grader.backends.gpu.hostfile.backend import HostfileBackend
from grader.backends.gpu.reference import baseline_source, ceiling_data, cubin, target_of
from grader.backends.gpu.setup import prepare, sized
from grader.backends.gpu.wire import LaunchShape
from grader.bench.report import BenchReport, BenchRow, CeilingRow, LibraryTime, rows_from_json, time_in_words
from grader.catalog.courses import resolve_reference
from grader.compile import compile_source, read_submission
from grader.dev.slices import StoredResults, slice_of
from grader.dev.wrong import wrong_answer
from grader.errors import WarpgradeError
from grader.gpus.models import capability
from grader.grading.fast import SpeedTest
from grader.grading.fast_hostfile import HostfileSpeedTest
from grader.inputs import element_count
from grader.timing import roofline
from grader.timing.pass_lines import lines_on, with_line

if TYPE_CHECKING:
    from grader.backends.gpu import GpuBackend
    from grader.backends.gpu.session import GpuSession
    from grader.catalog.courses import CourseExercise
    from grader.compile import Program
    from grader.exercise import Target
    from grader.gpus.detect import Gpu
    from grader.verdict import Measurement

LIMITS = Limits(launch_s=20.0, total_s=120.0)
LIBRARY_S = 60.0
"""For a library to prepare and to be timed: ``torch.compile`` takes some 10 s when it is first called."""
TABLE_BYTES = 1 << 30
"""Bytes of a bandwidth ceiling in `grade device`, over all its arrays."""
TABLE_FLOPS = 1 << 38
LINK_BYTES = 256 << 20


def bench(
    exercises: Sequence[CourseExercise],
    backend: GpuBackend,
    seed: int,
    tell: Callable[[str], None] = lambda name: None,
    *,
    alone: bool = False,
    limit_s: float | None = None,
) -> BenchReport:
    """Time the solution of every exercise that has a timed size. ``tell`` is called with each name before.

    ``alone`` omits further sizes, libraries and other answers. A solution that fails becomes a row with its
    ``problem``. With ``limit_s`` stored rows of unchanged exercises are used, and no exercise is started that would
    probably exceed the time: the report says how many are left.
    """
    gpu, rows = backend.gpu, dict[str, tuple[BenchRow, ...]]()
    timed = [entry for entry in exercises if entry.exercise.timed is not None and entry.solution is not None]
    depends_on = repr((gpu.name, versions(gpu), sorted(lines_on(gpu.name).items())))
    job = "calibrate" if alone else "bench"
    stored = StoredResults(job, depends_on, lambda rows: [asdict(row) for row in rows], rows_from_json)

    def begin(entry: CourseExercise) -> Callable[[], tuple[BenchRow, ...]]:
        def measured() -> tuple[BenchRow, ...]:
            tell(entry.name)
            exercise = entry.exercise
            if alone:
                exercise = replace(exercise, also_timed=(), baseline="", rivals=(), compared=())
            return tuple(_row(sized, backend, seed) for sized in _sizes(replace(entry, exercise=exercise), gpu))

        return measured

    for entry, entry_rows in slice_of(timed, begin, stored, limit_s):
        rows[entry.name] = entry_rows
    in_order = tuple(row for entry in timed for row in rows.get(entry.name, ()))
    today = datetime.now(UTC).date().isoformat()
    return BenchReport(gpu, versions(gpu), today, in_order, left=len(timed) - len(rows))


def _sizes(entry: CourseExercise, gpu: Gpu) -> Iterator[CourseExercise]:
    """The exercise with its pass line on this GPU, then once for each further size, without a pass line."""
    exercise = with_line(entry.exercise, gpu.name)
    yield replace(entry, exercise=exercise)
    for also in exercise.also_timed:
        target = replace(exercise.target, fraction=0.0, reach=also.reach) if exercise.target else None
        yield replace(entry, exercise=replace(exercise, timed=also.size, target=target))


def _row(entry: CourseExercise, backend: GpuBackend, seed: int) -> BenchRow:
    try:
        measure = _host_row if entry.exercise.host else _kernel_row
        return measure(entry, backend, seed)
    except WarpgradeError as error:
        return BenchRow(entry.name, size_in_words(entry.exercise.timed or {}), problem=error.message)


def _kernel_row(entry: CourseExercise, backend: GpuBackend, seed: int) -> BenchRow:
    program = _compiled(entry, backend)
    with backend.open(program, LIMITS) as session:
        speed = SpeedTest(entry, backend, seed, LIMITS)(session)
    libraries: dict[str, float] = {}
    if entry.exercise.baseline or entry.exercise.rivals:
        setup = prepare(entry, program, backend.gpu, seed)
        real = next(variant for variant in setup.run.variants if variant.kind == "real")
        shapes = [shape for shape in setup.run.shapes if shape.role != "scratch"]
        inputs = {
            "host": False,
            "l2_bytes": backend.gpu.l2_bytes,
            "generator": setup.modules["generate"],
            "generate": [asdict(launch) for launch in real.generate],
        }
        with _for_libraries(backend).open(None, LIMITS) as empty:
            libraries = _library_times(entry, empty, shapes, inputs)
    libraries |= {
        name: seconds for name in entry.exercise.compared if (seconds := _answer_s(entry, name, backend, seed))
    }
    return _finished(entry, backend.gpu, speed, libraries)


def _answer_s(entry: CourseExercise, name: str, backend: GpuBackend, seed: int) -> float | None:
    """The median time of the stub or of a wrong answer whose timed outputs are right, in seconds."""
    path = entry.stub if name == "stub" else entry.folder / name
    text = path.read_text() if name == "stub" else next(iter(wrong_answer(entry, path.stem).texts.values()))
    with backend.open(_compiled(entry, backend, text), LIMITS) as session:
        speed = SpeedTest(entry, backend, seed, LIMITS)(session)
    return speed.measured.median_s if speed and speed.measured else None


def _host_row(entry: CourseExercise, backend: GpuBackend, seed: int) -> BenchRow:
    assert entry.solution is not None
    host_file = entry.solution.with_name(f"{entry.name}_host.py")
    host = HostfileBackend(backend, entry.exercise, host_file.read_bytes(), host_file.name, course=entry.course)
    entry = replace(entry, exercise=host.exercise)
    timer = HostfileSpeedTest(
        entry.exercise, host, lambda: resolve_reference(entry.exercise.oracle, entry.course), seed, LIMITS
    )
    with host.open(_compiled(entry, backend), LIMITS) as session:
        speed = timer(session)
    size = entry.exercise.timed or {}
    shapes = [LaunchShape(a.name, a.dtype, element_count(a, size), a.role) for a in entry.exercise.arrays]
    with _for_libraries(backend).open(None, LIMITS) as empty:
        libraries = _library_times(entry, empty, shapes, {"host": True})  # arrays in pinned host memory
    return _finished(entry, backend.gpu, speed, libraries)


def _for_libraries(backend: GpuBackend) -> GpuBackend:
    """The backend without the sandbox: ``torch.compile`` starts compilers, NCCL's GPUs find each other through sockets.

    Only the course's own files run there.
    """
    from grader.backends.gpu import GpuBackend

    return GpuBackend(backend.gpu, sandbox=False)


def _finished(entry: CourseExercise, gpu: Gpu, speed: Any, libraries: Mapping[str, float]) -> BenchRow:
    target, size = entry.exercise.target, size_in_words(entry.exercise.timed or {})
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
            for name, seconds in libraries.items()
        ),
        problem="" if speed.measured else speed.detail,
    )


def _ceiling_name(target: Target, measured: Measurement | None) -> str:
    """The text after the fraction of the ceiling: its name, the ideal time of an overlap, or the time of a loop."""
    template = _REFERENCES.get(target.unit)
    if template is None or measured is None or not measured.fraction_of_ceiling:
        return target.ceiling
    return template.format(time_in_words(measured.median_s * measured.fraction_of_ceiling))


_REFERENCES = {"overlap": "of the ideal {}", "launches": "of the loop's {}"}


def _library_fraction(entry: CourseExercise, gpu: Gpu, measured: Measurement | None, library_s: float) -> float | None:
    """The library's rate on the same work as a fraction of the same peak (of the ceiling if there is no peak)."""
    target, size = entry.exercise.target, entry.exercise.timed
    if target is None or size is None or measured is None:
        return None
    whole = roofline.peak_of(target.unit, roofline.peaks(gpu)) or measured.ceiling
    return roofline.rate(roofline.work_of(entry.exercise, size), library_s) / whole if whole else None


def _compiled(entry: CourseExercise, backend: GpuBackend, text: str = "") -> Program:
    """The solution, or the answer ``text``, compiled for this GPU."""
    assert entry.solution is not None
    target = max(target_of(backend.gpu), entry.exercise.requires, key=capability)
    source = text.encode() if text else read_submission(entry.solution)
    return compile_source(source, entry.solution.name, target=target, headers=entry.header_texts)


def _library_times(
    entry: CourseExercise, session: GpuSession, shapes: list[LaunchShape], inputs: Mapping[str, Any]
) -> dict[str, float]:
    """The median time in seconds of each installed library on the same arrays, by its name in kernels_ref/baselines."""
    times = {}
    for name in filter(None, (entry.exercise.baseline, *entry.exercise.rivals)):
        module, _, function = name.partition(":")
        request = {
            "do": "library",
            "source": baseline_source(entry.course, module),
            "name": f"baselines/{module}.py",
            "function": function,
            "numbers": {**entry.exercise.scalars, **(entry.exercise.timed or {})},
            "shapes": [asdict(shape) for shape in shapes],
            **inputs,
        }
        if seconds := session.call(request, LIBRARY_S)["seconds"]:
            times[name] = float(median(seconds))
    return times


# -------------------------------------------------------------------------------------------------------- ceilings


def measured_ceilings(course: Any, backend: GpuBackend) -> tuple[CeilingRow, ...]:
    """Every ceiling of the course on this GPU: 1 GiB of traffic, 2^38 operations, 256 MiB over the link."""
    data = ceiling_data(course)
    folder = Path(str(data.__file__)).parent
    with backend.open(None, LIMITS) as session:
        return tuple(_ceiling_row(name, entry, folder, session, backend.gpu) for name, entry in data.CEILINGS.items())


def _ceiling_row(name: str, entry: Any, folder: Path, session: GpuSession, gpu: Gpu) -> CeilingRow:
    on_the_link = any(array.memory == "host" for array in entry.arrays)
    plan = sized(entry, LINK_BYTES if on_the_link else TABLE_BYTES, TABLE_FLOPS, gpu.sm_count)
    request: dict[str, Any] = {
        "do": "ceiling",
        "bytes": plan.bytes,
        "host_bytes": plan.host_bytes,
        "l2_bytes": gpu.l2_bytes,
        "launches": [asdict(launch) for launch in plan.launches],
        "arrays": [list(array) for array in plan.arrays],
    }
    if plan.launches:
        request["cubin"] = cubin((folder / entry.file).read_text(), entry.file, gpu.arch, target_of(gpu))
    rate = roofline.ceiling(plan.work, session.call(request, LIMITS.launch_s)["seconds"]) or 0.0
    limits = roofline.peaks(gpu)
    tensor = name.startswith("mma")
    flop, op = (limits.fp16_tensor, limits.int8_tensor) if tensor else (limits.fp32, limits.int8)
    peak = None if on_the_link else {"B": limits.bandwidth, "FLOP": flop, "OP": op}[entry.unit]
    if on_chip := getattr(entry, "peak", ""):
        peak = roofline.peak_of(on_chip, limits)
    return CeilingRow(name, entry.what, entry.unit, rate, rate / peak if peak else None)


# -------------------------------------------------------------------------------------------------------- versions


def versions(gpu: Gpu) -> tuple[tuple[str, str], ...]:
    """The versions on which a measurement depends: pairs of name and version."""
    known = [("driver", gpu.driver), ("CUDA of the driver", gpu.cuda_driver)]
    for package in ("cupy-cuda12x", "cupy-cuda13x", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"):
        try:
            known.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return tuple((name, text) for name, text in known if text)
