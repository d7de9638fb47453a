"""The parent's side of one host submission: its baselines, its cases, its timed runs, its timeline.

The protocol and its reasons: docs/design/host-protocol.md.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grader.backends.base import CaseRun, Execution, Limits
from grader.backends.gpu.hostfile.signals import Signals, undisturbed
from grader.backends.gpu.hostfile.timeline import timeline_of
from grader.backends.gpu.session import LOAD_S, SETTLE_S, START_S, ChildSession
from grader.backends.hostfile.allowance import LOOK_S
from grader.backends.hostfile.case import (
    HostfileProcess,
    error_of,
    is_cooperative,
    printed_of,
    printed_too_much,
    run_case,
    shared_bytes,
)
from grader.backends.hostfile.child_files import ChildFiles
from grader.backends.mappings import PAGE, SharedFile
from grader.errors import GraderFault, SubmissionError, WarpgradeError
from grader.process.child import give_to_children

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.gpu.hostfile.baselines import Baseline
    from grader.compile import Program
    from grader.exercise import Exercise
    from grader.process.child import Child
    from grader.verdict import Timeline

    Start = Callable[[SharedFile, ChildFiles, str, Limits], Child]

    Values = npt.NDArray[np.generic]
    Arrays = Mapping[str, Values]

HOST_MEMORY_BYTES = 16 << 30  # of the process without the shared file: CUDA's memory grows with the number of GPUs
LATE_S = 0.1  # for the rest of a message that has begun to arrive
BASELINE_WARM_UPS = 2
WARM_UP_S = 0.25  # at least, while the clocks rise
BASELINE_SAMPLES = 15


class HostfileSession(ChildSession):
    """One host submission in its child, on ``gpus`` GPUs; ``start`` starts the child with the shared files.

    ``baselines_s`` are the samples of each baseline in seconds, taken like those of runs before any of the submission's
    code is loaded.
    """

    def __init__(self, exercise: Exercise, gpus: int, start: Start, limits: Limits) -> None:
        self._exercise = exercise
        self._gpus = gpus
        self._folder = tempfile.TemporaryDirectory(prefix="warpgrade-host-", ignore_cleanup_errors=True)
        give_to_children(self._folder.name)
        self._shared = SharedFile(PAGE + shared_bytes(exercise))
        self._shared.reserve(PAGE)  # the first page is for signals
        self._signals = Signals(self._shared.fd)
        self._watched = False  # the child waits for signals, not for messages
        self._files = ChildFiles()
        self._mapped: dict[str, dict[str, Any]] = {}  # of the last `set_up`: span and dtype by name
        self.baselines_s: dict[str, tuple[float, ...]] = {}
        super().__init__(start(self._shared, self._files, self._folder.name, limits), limits)
        # Pages of the shared file count twice: as pages of the process, and as an anonymous file that it has open.
        self._process = HostfileProcess(self._child, self._files, HOST_MEMORY_BYTES + 2 * self._shared.size)

    def load(
        self, program: Program, cubin: bytes, source: bytes, name: str, baselines: tuple[Baseline, ...] = ()
    ) -> None:
        """Measure the baselines, then load the module and the host file. Raises SubmissionError, GraderFault."""
        self._program = program
        self.wait_ready()
        for one in baselines:
            self.baselines_s[one.name] = self._measured(one)
        self.call({"do": "sandbox"}, LOAD_S)
        self._process.name = name
        self._process.confine()
        kernel = self.program.entries[0].name if self.program.entries else ""
        module = {"kernel": kernel, "cooperative": is_cooperative(self.program), "devices": self._gpus}
        self._load({"do": "load", "cubin": cubin, "source": source, "name": name, **module})

    def _measured(self, one: Baseline) -> tuple[float, ...]:
        try:
            self.call({"do": "baseline", "name": one.name, **one.request}, START_S)
            self._watched = True
            with undisturbed():
                started, calls = time.perf_counter(), 0
                while calls < BASELINE_WARM_UPS or time.perf_counter() - started < WARM_UP_S:
                    self._call(START_S)
                    calls += 1
                return tuple(self._call(START_S) for _ in range(BASELINE_SAMPLES))
        except SubmissionError as error:  # nothing of the submission has run yet
            raise self._stop(GraderFault(f"{one.name} could not be measured: {error.message}")) from error

    def run(self, run: CaseRun) -> Execution:
        """Run one case on fresh mappings. An exception in the host file becomes ``failure``."""
        try:
            execution = run_case(self, self._exercise, run.buffers)
            self.check_limits(now=True)
        except SubmissionError as error:
            execution = Execution({}, diagnostics=error.diagnostics, failure=error.verdict)
        return self._with_printed(execution)

    def _with_printed(self, execution: Execution) -> Execution:
        """``execution`` with the output, which is read from the output file if the process is gone."""
        limit_bytes = self.limits.printf_bytes
        if self._stopped is not None:
            return replace(execution, printed=self._files.printed(limit_bytes))
        printed, too_much = printed_of(self.call({"do": "printed"}, SETTLE_S), limit_bytes)
        if too_much and execution.failure is None:
            said = printed_too_much(f"{self._process.name}, or its kernels,", self._process.name, limit_bytes)
            execution = replace(execution, failure="limit", diagnostics=(said,))
        return replace(execution, printed=printed)

    def set_up(self, data: Arrays) -> dict[str, Values]:
        """Share copies of ``data`` with the child and call its `setup`; returns the parent's view of them."""
        shared = {}
        self._mapped = {}
        for name, values in data.items():
            span = self._shared.reserve(values.nbytes)
            shared[name] = self._shared.array(span, values.dtype.name)
            shared[name][:] = values
            self._mapped[name] = {"offset": span.offset, "size": span.size, "dtype": values.dtype.name}
        self._send({"do": "setup", "arrays": list(self._mapped.values())})
        self._await(self.limits.launch_s + SETTLE_S)
        self._watched = True
        return shared

    def go(self) -> float:
        """One timed run: seconds by the parent's clock, from the call to the child's answer.

        Raises SubmissionError for an exception in the host file, a run that does not end, or a process that died.
        """
        return self._call(self.limits.launch_s)

    def traced(self, device: str) -> Timeline | None:
        """The timeline of one further run, in which the host file is loaded again with the same arrays. It is only
        drawn, so it is None if anything fails. The session cannot be used afterwards.
        """
        allowed_s = self.limits.launch_s + SETTLE_S
        try:
            self.call({"do": "trace", "arrays": list(self._mapped.values())}, allowed_s)
            self.call({"do": "traced"}, allowed_s)  # the first run may do one-time work, so it is not drawn
            answer = self.call({"do": "traced"}, allowed_s)
        except WarpgradeError:
            return None
        return timeline_of(answer.get("timeline"), list(self._mapped), device)

    def _call(self, timeout_s: float) -> float:
        if self._stopped is not None:
            raise self._stopped
        allowed_s = self._allowed(timeout_s)
        start = time.perf_counter()
        number = self._signals.call()
        while (ended := self._signals.watch(number)) is None:
            if time.perf_counter() - start > allowed_s:
                raise self._stop(self._hung(allowed_s))
            if self._child.wait(0.0) is not None:
                raise self._stop(self._died())
            self.check_limits()
        seconds = time.perf_counter() - start
        if not ended:
            self._await(SETTLE_S)  # raises what went wrong
            raise self._stop(SubmissionError("crash", "the process that ran the host file failed and gave no reason"))
        return seconds

    def _watched_for(self, allowed_s: float) -> float:
        ends = time.monotonic() + allowed_s
        while not self._child.channel.arrives(min(LOOK_S, max(0.0, ends - time.monotonic()))):
            self.check_limits()
            if time.monotonic() >= ends:
                return 0.0
        self.check_limits(now=True)
        return max(LATE_S, ends - time.monotonic())

    def check_limits(self, *, now: bool = False) -> None:
        """End the process and raise SubmissionError if it exceeds its limits.

        Do not call it between a run's end and the copies of its outputs, which must be made at once.
        """
        error = self._process.over_limit(now=now) if self._process.name and not self._stopped else None
        if error is not None:
            raise self._stop(error)

    def _hung(self, seconds: float) -> WarpgradeError:
        """The error for a host file that exceeded its time, with its line."""
        if not self._process.name:
            return super()._hung(seconds)
        hint = (
            "look for a loop that does not end, in it or in a kernel, and for a wait for an operation that was never "
            f"queued; if it only needs more time, use `--timeout {math.ceil(2 * self.limits.total_s)}`"
        )
        return self._process.hung(self._too_long(self._process.name, seconds), hint)

    def _died(self) -> WarpgradeError:
        if not self._process.name:
            return super()._died()
        return self._process.died("run it with `--backend sim` to see what it does")

    def _raise_if_bad(self, answer: dict[str, Any], keep_fault: bool) -> None:
        """As for a kernel. Once the host file is loaded, it can write to the channel: only faults are accepted then."""
        if self._process.name:
            answer = {name: value for name, value in answer.items() if name not in ("error", "unsupported")}
        super()._raise_if_bad(answer, keep_fault)

    def _submission_error(self, answer: dict[str, Any]) -> SubmissionError:
        return error_of(answer, self._process.name)

    def _send(self, request: dict[str, Any], arrays: dict[str, Values] | None = None) -> None:
        """Send a message; a child that waits for signals must be told first to receive messages."""
        if self._watched:
            self._signals.leave()
            self._watched = False
        super()._send(request, arrays)

    def close(self) -> None:
        super().close()
        self._process.close()
        self._shared.close()
        self._files.close()
        self._folder.cleanup()
