"""Host files on the GPU: timelines, cooperative launches, CUDA's errors with their lines, what the tracer changes."""

from __future__ import annotations

from typing import Any

from gpu_checks import LIMITS, courses, expect, item
from gpu_checks.hosts import Told, host_case, solution_host
from grader.backends.gpu import GpuBackend
from grader.verdict import Operation, Timeline

COPIES = ("to_device", "to_host")


@item
def timeline_of_streams_overlap(backend: GpuBackend) -> Any:
    """Copies go on beside kernels, each bar has its line and its stream, and nothing begins before the run."""
    timeline = timed_timeline(backend, "streams_overlap")
    kinds = {operation.kind for operation in timeline.operations}
    expect({"kernel", *COPIES} <= kinds, kinds)
    expect(len({operation.stream for operation in timeline.operations}) > 1, "one stream")
    expect(all(operation.line for operation in timeline.operations), "a bar without its line")
    expect(beside(timeline) > 0.3, f"{beside(timeline):.2f} of the copying is beside a kernel")
    names = {operation.name for operation in timeline.operations}
    expect({"x", "out"} <= names, names)
    return (
        f"{len(timeline.operations)} bars in {timeline.elapsed_s * 1e3:.2f} ms, "
        f"{beside(timeline):.2f} of the copying beside a kernel, streams and names {sorted(names)}"
    )


@item
def timeline_of_every_host_solution(backend: GpuBackend) -> Any:
    told = {}
    for name, one in courses().items():
        if one.exercise.host and one.exercise.timed and one.solution is not None and one.exercise.gpus == 1:
            timeline = timed_timeline(backend, name)
            told[name] = f"{len(timeline.operations)} bars, {timeline.elapsed_s * 1e3:.2f} ms"
            print(f"    {name}: {told[name]}", flush=True)
    return told


def timed_timeline(backend: GpuBackend, name: str) -> Timeline:
    """The timeline that comes with the timed runs of the solution."""
    told = host_case(backend, solution_host(name), name=name)
    expect(told.speed is not None and told.speed.timeline is not None, told)
    assert told.speed is not None
    assert told.speed.timeline is not None
    expect(not told.speed.timeline.modelled and told.speed.timeline.device == backend.gpu.name, told.speed.timeline)
    return told.speed.timeline


def beside(timeline: Timeline) -> float:
    """The part of the copies' time in which some kernel's bar lies, too."""
    kernels = [operation for operation in timeline.operations if operation.kind == "kernel"]
    copies = [operation for operation in timeline.operations if operation.kind in COPIES]
    total_s = sum(copy.end_s - copy.start_s for copy in copies)
    return sum(_common(copy, kernels) for copy in copies) / total_s if total_s else 0.0


def _common(copy: Operation, kernels: list[Operation]) -> float:
    """Seconds of ``copy`` in which a kernel was between its events: overlapping kernels count once."""
    spans = sorted((max(copy.start_s, k.start_s), min(copy.end_s, k.end_s)) for k in kernels)
    covered, until = 0.0, copy.start_s
    for start, end in spans:
        if end > max(start, until):
            covered += end - max(start, until)
            until = end
    return covered


def refused(backend: GpuBackend, name: str, source: str, kind: str, word: str) -> str:
    """A host file that CUDA refuses: the finding's kind, and the line that says ``# here``."""
    told: Told = host_case(backend, source, name=name)
    line = next(n for n, text in enumerate(source.splitlines(), start=1) if "# here" in text)
    expect(told.small == word, told)
    (found,) = told.diagnostics
    expect((found.kind, found.file, found.line) == (kind, f"{name}_host.py", line), found)
    return f"{found.message} ({found.file}:{found.line}): {found.hint}"


@item
def cooperative_launch_too_large(backend: GpuBackend) -> Any:
    source = """
import cupy
import numpy as np
BLOCK = 256
held = {}
def setup(module, x, heat, out):
    held["kernel"] = module.get_function("cooperative_grid")
    held["rods"] = [cupy.empty(x.size, np.float32) for _ in range(2)]
    held["heat"] = cupy.empty(heat.size, np.float32)
def run():
    now, then = held["rods"]
    steps = np.int32(held["heat"].size)
    arrays = now, held["heat"], then, then, then
    held["kernel"]((1000, 100), (BLOCK,), (*arrays, np.int32(now.size), steps))  # here
"""
    return refused(backend, "cooperative_grid", source, "crash", "crash")  # by CuPy, before CUDA sees it


@item
def memory_pinned_twice(backend: GpuBackend) -> Any:
    source = """
import cupy
def setup(module, x, out):
    cupy.cuda.runtime.hostRegister(x.ctypes.data, x.nbytes, 0)
    cupy.cuda.runtime.hostRegister(x.ctypes.data, x.nbytes, 0)  # here
def run(): pass
"""
    return refused(backend, "zero_copy", source, "cuda_error", "crash")


@item
def more_memory_than_there_is(backend: GpuBackend) -> Any:
    source = """
import cupy
def setup(module, x, out):
    cupy.empty(1 << 42, cupy.uint8)  # here
def run(): pass
"""
    return refused(backend, "zero_copy", source, "cuda_error", "crash")


@item
def a_kernel_far_out_of_bounds(backend: GpuBackend) -> Any:
    source = """
import cupy
import numpy as np
held = []
def setup(module, x, out):
    held.append(module.get_function("zero_copy"))
def run():
    held[0]((1,), (32,), (np.uint64(1 << 45), np.uint64(1 << 45), np.int32(1)))
    cupy.cuda.get_current_stream().synchronize()  # here
"""
    return refused(backend, "zero_copy", source, "out_of_bounds", "out_of_bounds")


@item
def the_next_host_file_after_a_crash(backend: GpuBackend) -> Any:
    a_kernel_far_out_of_bounds(backend)
    told = host_case(backend, solution_host(), limits=LIMITS)
    return expect(told.small == "right" and told, told)
