"""Timed launches: fresh inputs, an empty L2 and a verified output for every sample. Child side.

    make inputs ─ poison ─ restore variables ─ wipe the work area ─ control copy ─ empty the L2
      ─▶ event ─ the submission ─ event ─▶ guards intact? ─ inputs unchanged? ─ outputs right? ─ sometimes: the ceiling

Everything up to the second event is queued without waiting, so that the launches are in the queue before the L2 is
empty and the host's speed does not count. Expected values exist only from a check to the next wipe.

For a warm run the control copy and the emptying come first, so that the arrays are in the L2, as they have just been
made, and the queue is as long. Its ceiling runs twice, and the second time counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np

from grader.backends.gpu.arena import Arena
from grader.backends.gpu.cuda import Cuda, CudaError, Event, Function, Module
from grader.backends.gpu.faults import error_name, stray_diagnostic
from grader.backends.gpu.program import LoadedProgram, only_kernel
from grader.backends.gpu.wire import Mismatch, RawSamples, TimedRun, Trusted, Variant
from grader.errors import Unsupported
from grader.verdict import Diagnostic

LEAST_WARM_UPS = 2
WARM_UP_S = 0.25  # at most, while the clocks rise
STEADY = 1.03  # the control kernel is within 3 % of its best time

FLUSH = 4
"""The size of each buffer in L2 sizes. With 2 some dirty lines remained: a 1 GiB read took 0.4 % longer on an H200."""
LEAST_BYTES = 64 << 20  # if the L2 is small: a shorter control copy would mostly measure the launch
_BLOCK = 256
_READ_BLOCKS_PER_MIB = 8


class L2:
    """Empties the L2 with two buffers several times its size: it writes one, which evicts everything else, and then
    reads the other, which is clean.

    Without the read, the timed kernel would pay for writing back dirty lines (on an H200 4 % of a 1 GiB read and 20 %
    of a 16 MiB read). ``support`` is the module of support.cu.
    """

    def __init__(self, device: Cuda, support: Module, l2_bytes: int) -> None:
        self._device = device
        self._size = max(FLUSH * l2_bytes, LEAST_BYTES) // 4096 * 4096
        self._dirty = device.allocate(self._size)
        self._clean = device.allocate(self._size + 256)  # the last 256 bytes are the reader's sink
        self._read = device.function(support, "read_through")
        self._copy = device.function(support, "control_copy")
        device.fill8(self._clean, 0, self._size + 256)

    def empty(self) -> None:
        """Queue: reset persisting lines, write one buffer, read the other."""
        self._device.reset_persisting_l2()
        self._device.fill8(self._dirty, 0x5A, self._size)
        count, sink = self._size // 16, self._clean + self._size
        args = [np.uint64(self._clean), np.uint64(count), np.uint32(1), np.uint64(sink)]
        blocks = max(1, (self._size >> 20) * _READ_BLOCKS_PER_MIB)
        self._device.launch(self._read, (blocks, 1, 1), (_BLOCK, 1, 1), args)

    def control(self, start: Event, stop: Event) -> None:
        """Queue the control copy between two events: its time depends on the machine only, not on the submission."""
        count = self._size // 16
        args = [np.uint64(self._clean), np.uint64(self._dirty), np.uint64(count)]
        self._device.record(start)
        self._device.launch(self._copy, (-(-count // _BLOCK), 1, 1), (_BLOCK, 1, 1), args)
        self._device.record(stop)

    def free(self) -> None:
        self._device.free(self._dirty)
        self._device.free(self._clean)


class TrustedKernels:
    """Launches `Trusted` kernels, the grader's own. ``modules`` are their cubins, ``areas`` the addresses of their own
    memory, by name.
    """

    def __init__(
        self, device: Cuda, modules: Mapping[str, bytes], arena: Arena | None, areas: Mapping[str, int]
    ) -> None:
        self._device = device
        self._arena = arena
        self._areas = areas
        self._modules = {name: device.load(cubin) for name, cubin in modules.items()}
        self._functions: dict[tuple[str, str], Function] = {}

    def prepare(self, launches: Iterable[Trusted]) -> None:
        """Get all functions, so that nothing is loaded between samples."""
        for launch in launches:
            key = (launch.module, launch.kernel)
            if key not in self._functions:
                self._functions[key] = self._device.function(self._modules[launch.module], launch.kernel)

    def queue(self, launches: Iterable[Trusted], sample: int) -> None:
        """Queue the launches in order; ``sample`` is the number of their timed launch."""
        for launch in launches:
            args = [self._argument(kind, value, sample) for kind, value in launch.args]
            function = self._functions[launch.module, launch.kernel]
            self._device.launch(function, launch.grid, launch.block, args)

    def _argument(self, kind: str, value: Any, sample: int) -> np.generic:
        if kind in self._areas:
            return np.uint64(self._areas[kind] + int(value))
        if kind == "buffer":
            assert self._arena is not None
            return np.uint64(self._arena.address(value))
        if kind == "sample":
            return np.uint64(sample + int(value))
        result: np.generic = np.dtype(_TYPES[kind]).type(value)
        return result


_TYPES = {"i64": "int64", "u64": "uint64", "u32": "uint32", "i32": "int32", "f64": "float64", "f32": "float32"}


# ------------------------------------------------------------------------------------------------------- timed runs


@dataclass
class _Log:
    """The samples so far."""

    seconds: list[float] = field(default_factory=list)
    ceiling_s: list[float] = field(default_factory=list)
    control_s: list[float] = field(default_factory=list)
    mismatch: Mismatch | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def failed(self) -> bool:
        return self.mismatch is not None or bool(self.diagnostics)


@dataclass
class Stopwatch:
    """Times one program on one device. ``support`` is the module of support.cu, ``modules`` the checks' cubins."""

    device: Cuda
    arena: Arena
    program: LoadedProgram
    support: Module
    modules: Mapping[str, bytes]

    def run(self, run: TimedRun, l2_bytes: int, tell: Callable[[int], None]) -> RawSamples:
        """Warm up, then take the samples; ``tell`` is called after each one, so that the parent's time limit holds for
        one sample.

        The warm-up takes samples, and discards them, until the control kernel is steady. Raises CudaError if the
        submission fails, Unsupported if the GPU has too little memory.
        """
        try:
            self._prepare(run, l2_bytes)
        except CudaError as error:
            if error_name(str(error)) != "memoryallocation":
                raise
            message = "this GPU has too little free memory to check and time this size"
            raise Unsupported(message, hint="`nvidia-smi` shows what else uses it") from None
        warming, warm_ups, started = _Log(), 0, time.perf_counter()
        while not (warming.failed or _warm(warming.control_s, time.perf_counter() - started)):
            warm_ups += 1
            self._take(warm_ups, warming, ceiling=warm_ups == 1)
            tell(warm_ups)
        each_s = (time.perf_counter() - started) / max(1, warm_ups)
        timed = sum(variant.ordinary for variant in run.variants) / len(run.variants)
        least, most = ceil(run.least_samples / timed), ceil(run.samples / timed)
        planned = max(least, min(most, int(run.budget_s / each_s)))
        every = ceil(planned / max(1, run.ceiling_samples))
        log = _Log(mismatch=warming.mismatch, diagnostics=warming.diagnostics)
        for position in range(planned):
            if log.failed or len(log.seconds) == run.samples:
                break
            sample = warm_ups + 1 + position
            self._take(sample, log, ceiling=position % every == 0)
            tell(sample)
        self._l2.free()
        for address in (self._work, self._ceiling):
            if address:
                self.device.free(address)
        times = (tuple(log.seconds), tuple(log.ceiling_s), tuple(log.control_s))
        return RawSamples(*times, warm_ups, log.mismatch, log.diagnostics)

    def _prepare(self, run: TimedRun, l2_bytes: int) -> None:
        device = self.device
        self._timed = run
        self.arena.lay_out(run.shapes)
        self._work = device.allocate(run.work_bytes)
        self._l2 = L2(device, self.support, l2_bytes)
        self._ceiling = 0
        if run.ceiling:
            try:
                self._ceiling = device.allocate(run.ceiling_bytes)
            except CudaError:
                pass  # the GPU has too little memory: no ceiling is measured
            else:
                device.fill8(self._ceiling, 0, run.ceiling_bytes)  # written once
        areas = {"work": self._work, "ceiling": self._ceiling}
        self._kernels = TrustedKernels(device, self.modules, self.arena, areas)
        self.program.prepare(run.plan)
        self._kernels.prepare([*run.ceiling, *(t for v in run.variants for t in (*v.generate, *v.check, *v.explain))])
        self._events: list[Event] = [device.event() for _ in range(4)]
        device.synchronise()

    def _take(self, sample: int, log: _Log, *, ceiling: bool) -> None:
        """Take and verify one sample; its time counts if its values are ordinary.

        A wrong output or a stray write goes to the log; a fault raises CudaError.
        """
        device = self.device
        variant = self._timed.variants[sample % len(self._timed.variants)]
        control_start, control_stop, start, stop = self._events
        self._queue(sample, variant)
        device.synchronise()
        kernel = only_kernel(self._timed.plan)
        log.diagnostics = tuple(stray_diagnostic(stray, kernel) for stray in self.arena.strays())
        if log.diagnostics:
            return
        log.mismatch = self._verify(sample, variant)
        if log.mismatch:
            return
        log.control_s.append(device.elapsed_s(control_start, control_stop))
        if variant.ordinary:
            log.seconds.append(device.elapsed_s(start, stop))
        if ceiling and self._ceiling:  # on the same arrays, after a flush of its own
            self._l2.empty()
            if self._timed.warm:
                self._kernels.queue(self._timed.ceiling, sample)
            device.record(start)
            self._kernels.queue(self._timed.ceiling, sample)
            device.record(stop)
            device.synchronise()
            log.ceiling_s.append(device.elapsed_s(start, stop))

    def _queue(self, sample: int, variant: Variant) -> None:
        run, device = self._timed, self.device
        _, _, start, stop = self._events
        if run.warm:
            self._empty()
        self._kernels.queue(variant.generate, sample)
        for shape in run.shapes:
            if shape.role != "in":
                self.arena.poison_array(shape.name)
        self.program.restore()
        self.program.set_constants(run.plan.constants, self.arena)
        device.fill8(self._work, 0, run.work_bytes)
        if not run.warm:
            self._empty()
        device.record(start)
        self.program.queue(run.plan, self.arena)
        device.record(stop)

    def _empty(self) -> None:
        """Queue the control copy, and then what empties the L2."""
        control_start, control_stop, _, _ = self._events
        self._l2.control(control_start, control_stop)
        self._l2.empty()

    def _verify(self, sample: int, variant: Variant) -> Mismatch | None:
        """Run the checks after the launch; None if everything is right."""
        run, device = self._timed, self.device
        device.fill8(self._work, 0, run.work_bytes)
        device.fill8(self._work + 8, 0xFF, 8)  # findings begin as {0, ~0, 0}
        self._kernels.queue(variant.check, sample)
        bad, first, *head = device.download(self._work, 64 + 8 * len(run.inputs)).view(np.uint64).tolist()
        counts = dict(zip(run.inputs, head[6:], strict=True))
        changed = {name: count for name, count in counts.items() if count}
        if not bad:
            return Mismatch(sample, variant.kind, 0, 0, 0.0, 0.0, changed) if changed else None
        self._kernels.queue(variant.explain, sample)
        index, expected = device.download(self._work + 24, 16).view(np.float64).tolist()
        first = int(index) if variant.explain else first
        return Mismatch(sample, variant.kind, bad, first, self._element(first), expected, changed)

    def _element(self, index: int) -> float:
        """One element of the checked outputs as a float; NaN if there is no such element."""
        found = self._timed.element(index)
        if found is None:
            return float("nan")
        shape, index = found
        kind = np.dtype(shape.dtype)
        content = self.device.download(self.arena.address(shape.name) + index * kind.itemsize, kind.itemsize)
        return float(content.view(kind)[0])


def _warm(control_s: Sequence[float], spent_s: float) -> bool:
    """Whether the warm-up is over: the control kernel is near its best time, or the time for it is over."""
    if len(control_s) < LEAST_WARM_UPS:
        return spent_s > 4 * WARM_UP_S and len(control_s) >= 1
    return control_s[-1] <= STEADY * min(control_s) or spent_s > WARM_UP_S
