"""Timed launches: fresh inputs, an empty L2 and a verified output for every sample. Child side.

    make inputs ─ poison ─ restore variables ─ wipe the checks' work ─ control copy ─ empty the L2
      ─▶ event ─ the submission ─ event ─▶ guards whole? ─ inputs unchanged? ─ outputs right? ─ now and then the ceiling

Everything up to the second event is queued without waiting, so the launches are in the queue before the L2 is empty
and the host's speed does not count. Expected values exist only between a check and the wipe.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.backends.gpu.arena import Arena
from grader.backends.gpu.case import only_kernel
from grader.backends.gpu.cuda import CudaError, Device, Event
from grader.backends.gpu.faults import error_name
from grader.backends.gpu.guards import GuardCheck, diagnostic
from grader.backends.gpu.l2 import L2
from grader.backends.gpu.program import LoadedProgram
from grader.backends.gpu.trusted import TrustedKernels
from grader.backends.gpu.wire import Mismatch, RawSamples, TimedRun, Variant
from grader.errors import Unsupported
from grader.verdict import Diagnostic

LEAST_WARM_UPS = 2
WARM_UP_S = 0.25  # at most, while the clocks rise
STEADY = 1.03  # the control kernel is back within 3 % of its best


@dataclass
class _Log:
    """The samples so far."""

    seconds: list[float] = field(default_factory=list)
    ceiling_s: list[float] = field(default_factory=list)
    control_s: list[float] = field(default_factory=list)
    warm_ups: int = 0
    mismatch: Mismatch | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def failed(self) -> bool:
        return self.mismatch is not None or bool(self.diagnostics)

    def frozen(self) -> RawSamples:
        times = (tuple(self.seconds), tuple(self.ceiling_s), tuple(self.control_s))
        return RawSamples(*times, self.warm_ups, self.mismatch, self.diagnostics)


class Stopwatch:
    """Times one program on one device. ``support`` is the module of support.cu, ``modules`` the checks' cubins."""

    def __init__(
        self,
        device: Device,
        arena: Arena,
        guards: GuardCheck,
        program: LoadedProgram,
        support: Any,
        modules: dict[str, bytes],
    ) -> None:
        self._device = device
        self._arena = arena
        self._guards = guards
        self._program = program
        self._support = support
        self._modules = modules

    def run(self, run: TimedRun, l2_bytes: int, tell: Callable[[int], None]) -> RawSamples:
        """Warm up, then take the samples; ``tell`` is called after each launch sequence, so that the parent can wait.

        Raises CudaError where the submission fails on the way, Unsupported where the GPU has too little memory.
        """
        try:
            self._prepare(run, l2_bytes)
        except CudaError as error:
            if error_name(str(error)) != "memoryallocation":
                raise
            message = "this GPU has too little free memory to check and time this size"
            raise Unsupported(message, hint="`nvidia-smi` shows what else uses it") from None
        log = _Log()
        started = time.perf_counter()
        sample = self._warm_up(log, started, tell)
        each_s = (time.perf_counter() - started) / max(1, log.warm_ups)
        planned = max(run.least_samples, min(run.samples, int(run.budget_s / each_s)))
        every = max(1, planned // max(1, run.ceiling_samples))
        for position in range(planned):
            if log.failed:
                break
            self._take(sample + position, log, ceiling=position % every == 0)
            tell(sample + position)
        self._release()
        return log.frozen()

    def _release(self) -> None:
        self._l2.free()
        for address in (self._work, self._ceiling):
            if address:
                self._device.free(address)

    def _prepare(self, run: TimedRun, l2_bytes: int) -> None:
        device = self._device
        self._timed = run
        self._arena.lay_out(run.shapes)
        self._work = device.allocate(run.work_bytes)
        self._l2 = L2(device, self._support, l2_bytes)
        self._ceiling = self._ceiling_memory(run)
        areas = {"work": self._work, "ceiling": self._ceiling}
        self._kernels = TrustedKernels(device, self._modules, self._arena, areas)
        self._program.prepare(run.plan)
        self._kernels.prepare([*run.ceiling, *(t for v in run.variants for t in (*v.generate, *v.check, *v.explain))])
        self._events: list[Event] = [device.event() for _ in range(4)]
        device.synchronise()

    def _ceiling_memory(self, run: TimedRun) -> int:
        """The ceiling's arrays, written once; 0 where there is no ceiling, or no memory for it."""
        if not run.ceiling:
            return 0
        try:
            address = self._device.allocate(run.ceiling_bytes)
        except CudaError:
            return 0  # a smaller GPU: then no ceiling stands beside the peak
        self._device.fill8(address, 0, run.ceiling_bytes)
        return address

    def _warm_up(self, log: _Log, started: float, tell: Callable[[int], None]) -> int:
        """Whole samples, thrown away, until the control kernel is steady; returns the next sample's number."""
        warm = _Log()
        sample = 1
        while not (warm.failed or _warm(warm.control_s, time.perf_counter() - started)):
            self._take(sample, warm, ceiling=sample == 1)
            tell(sample)
            sample += 1
        log.warm_ups = sample - 1
        log.mismatch, log.diagnostics = warm.mismatch, warm.diagnostics
        return sample

    def _take(self, sample: int, log: _Log, *, ceiling: bool) -> None:
        """One sample, verified. A wrong output or a stray write is noted in the log; a fault raises CudaError."""
        variant = self._timed.variants[sample % len(self._timed.variants)]
        self._queue(sample, variant)
        self._device.synchronise()
        self._look_for_strays(log)
        if log.failed:
            return
        log.mismatch = self._verify(sample, variant)
        if log.failed:
            return
        control_start, control_stop, start, stop = self._events
        log.control_s.append(self._device.elapsed_s(control_start, control_stop))
        log.seconds.append(self._device.elapsed_s(start, stop))
        if ceiling and self._ceiling:
            log.ceiling_s.append(self._time_ceiling(sample))

    def _queue(self, sample: int, variant: Variant) -> None:
        run, device = self._timed, self._device
        self._kernels.queue(variant.generate, sample)
        for shape in run.shapes:
            if shape.role != "in":
                self._arena.poison_array(shape.name)
        self._program.restore()
        self._program.set_constants(run.plan.constants, self._arena.layout.places, self._arena.base)
        device.fill8(self._work, 0, run.work_bytes)
        control_start, control_stop, start, stop = self._events
        self._l2.control(control_start, control_stop)
        self._l2.empty()
        device.record(start)
        self._program.queue(run.plan, self._arena.addresses(), self._arena.sizes())
        device.record(stop)

    def _look_for_strays(self, log: _Log) -> None:
        strays = self._guards.strays(self._arena.base, self._arena.layout)
        kernel = only_kernel(self._timed.plan)
        log.diagnostics = tuple(diagnostic(stray, kernel) for stray in strays)

    def _verify(self, sample: int, variant: Variant) -> Mismatch | None:
        """Run the checks on what the launch left; None where all is right."""
        import numpy as np

        run, device = self._timed, self._device
        device.fill8(self._work, 0, run.work_bytes)
        device.fill8(self._work + 8, 0xFF, 8)  # findings begin as {0, ~0, 0}
        self._kernels.queue(variant.check, sample)
        head = device.download(self._work, 64 + 8 * len(run.inputs)).view(np.uint64)
        counts = dict(zip(run.inputs, head[8:].tolist(), strict=True))
        changed = {name: count for name, count in counts.items() if count}
        if not changed and not head[0]:
            return None
        return self._explained(sample, variant, (int(head[0]), int(head[1])), changed)

    def _explained(self, sample: int, variant: Variant, found: tuple[int, int], changed: dict[str, int]) -> Mismatch:
        import numpy as np

        bad, first = found
        if not bad:
            return Mismatch(sample, variant.kind, 0, 0, 0.0, 0.0, changed)
        self._kernels.queue(variant.explain, sample)
        index, expected = self._device.download(self._work + 24, 16).view(np.float64).tolist()
        first = int(index) if variant.explain else first
        return Mismatch(sample, variant.kind, bad, first, self._element(first), expected, changed)

    def _element(self, index: int) -> float:
        """One element of the judged output, as a number."""
        import numpy as np

        shape = next(s for s in self._timed.shapes if s.name == self._timed.judged)
        kind = np.dtype(shape.dtype)
        if not 0 <= index < shape.count:
            return float("nan")
        content = self._device.download(self._arena.address(shape.name) + index * kind.itemsize, kind.itemsize)
        return float(content.view(kind)[0])

    def _time_ceiling(self, sample: int) -> float:
        """The ceiling kernel on the same arrays, after a flush of its own."""
        _, _, start, stop = self._events
        self._l2.empty()
        self._device.record(start)
        self._kernels.queue(self._timed.ceiling, sample)
        self._device.record(stop)
        self._device.synchronise()
        return self._device.elapsed_s(start, stop)


def _warm(control_s: Sequence[float], spent_s: float) -> bool:
    """Whether the clocks have risen: the control kernel is near its best again, or the time for warming is over."""
    if len(control_s) < LEAST_WARM_UPS:
        return spent_s > 4 * WARM_UP_S and len(control_s) >= 1
    return control_s[-1] <= STEADY * min(control_s) or spent_s > WARM_UP_S
