"""Timing ceilings and library baselines, by the same method as submissions. Child side.

The process has only the course's own files, nothing hostile.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from math import ceil
from types import ModuleType
from typing import Any

from grader.backends.gpu.arena import Arena
from grader.backends.gpu.cuda import Cuda, Module
from grader.backends.gpu.measure import L2, TrustedKernels
from grader.backends.gpu.wire import LaunchShape, Trusted
from grader.reading import from_json

WARM_UPS = 3
SAMPLES = 20
MOST_EMPTIED = 16
"""How often the L2 is emptied before a call, at most: one that waits for the GPU itself takes the processor as long."""


def time_ceiling(device: Cuda, support: Module, cubin: bytes | None, request: Mapping[str, Any]) -> list[float]:
    """The samples of one ceiling, in seconds: of its kernel on its own memory, or of a copy between two arrays."""
    memory = device.allocate(request["bytes"])
    host = device.allocate_host(request["host_bytes"]) if request["host_bytes"] else 0
    device.fill8(memory, 0, request["bytes"])
    l2 = L2(device, support, request["l2_bytes"])
    areas = {"ceiling": memory, "device": memory, "host": host}
    if cubin is not None:
        kernels = TrustedKernels(device, {"ceiling": cubin}, None, areas)
        launches = from_json(tuple[Trusted, ...], request["launches"])
        kernels.prepare(launches)
        seconds = _samples(device, l2, lambda: kernels.queue(launches, 0))
    else:
        source, target = (areas[memory] + int(offset) for _, offset, _, memory in request["arrays"][:2])
        size = int(request["arrays"][0][2])
        seconds = _samples(device, l2, lambda: device.copy_any(target, source, size))
    l2.free()
    device.free(memory)
    if host:
        device.free_host(host)
    return seconds


def time_library(
    device: Cuda, support: Module, arena: Arena, request: Mapping[str, Any], shapes: tuple[LaunchShape, ...]
) -> list[float]:
    """The samples of a library call on arrays of these shapes, in seconds; [] if the library is not installed.

    ``request`` has the baseline's source and function.
    """
    try:
        run = _prepared(request, {shape.name: device.as_cupy(arena.address(shape.name), shape) for shape in shapes})
    except ImportError:
        return []
    l2 = L2(device, support, request["l2_bytes"])
    with device.stream:
        seconds = _samples(device, l2, run)
    l2.free()
    return seconds


def time_host_library(device: Cuda, request: Mapping[str, Any], shapes: tuple[LaunchShape, ...]) -> list[float]:
    """As `time_library`, on arrays in pinned host memory and by the CPU's clock: the call waits for its output."""
    try:
        run = _prepared(request, {shape.name: device.pinned_array(shape) for shape in shapes})
    except ImportError:
        return []
    seconds = []
    for _ in range(WARM_UPS + SAMPLES):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return seconds[WARM_UPS:]


def _prepared(request: Mapping[str, Any], arrays: dict[str, Any]) -> Callable[[], Any]:
    module = sys.modules["baseline"] = ModuleType("baseline")  # torch.compile imports the module of what it compiles
    exec(compile(request["source"], request["name"], "exec"), vars(module))
    run: Callable[[], Any] = vars(module)[request["function"]](arrays, request["numbers"])
    return run


def _samples(device: Cuda, l2: L2, run: Callable[[], Any]) -> list[float]:
    """The L2 is emptied before each sample, and so often that the processor has queued the whole call before the GPU
    begins with it: a library's kernels are timed, not Python's way to them.
    """
    emptied, start, stop = device.event(), device.event(), device.event()
    seconds, times = [], 1
    for sample in range(WARM_UPS + SAMPLES):
        device.record(emptied)
        for _ in range(times):
            l2.empty()
        device.record(start)
        began = time.perf_counter()
        run()
        queued_s = time.perf_counter() - began
        device.record(stop)
        device.synchronise()
        seconds.append(device.elapsed_s(start, stop))
        if sample == WARM_UPS - 1:  # the first calls compile
            times = min(MOST_EMPTIED, 1 + ceil(2 * queued_s / device.elapsed_s(emptied, start)))
    return seconds[WARM_UPS:]
