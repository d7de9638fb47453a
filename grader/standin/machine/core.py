"""What all calls of the machine share: issuing operations, waiting for them, and runs from begin to end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from grader.simt.engine.code_cache import CodeCache
from grader.simt.ptx import Module
from grader.simt.simulate import Options
from grader.standin.machine import words as say
from grader.standin.machine.clock import Clock, overlap
from grader.standin.machine.conflicts import conflicts
from grader.standin.machine.counters import Tally
from grader.standin.machine.execute import Executor, Launches
from grader.standin.machine.gpu import Gpu
from grader.standin.machine.managed import Managed
from grader.standin.machine.memory import Space
from grader.standin.machine.model import A100, Model
from grader.standin.machine.operations import Operation, Task
from grader.standin.machine.order import hostile, missing
from grader.standin.machine.records import RunReport
from grader.standin.machine.streams import Stream, Streams
from grader.standin.machine.words import Findings
from grader.standin.protocol import CudaError

Bytes = npt.NDArray[np.uint8]
Arrays = Mapping[str, tuple[int, int, str, str]]

FAULT = "a kernel ended with a fault, and nothing can be done on this GPU any more: see the kernel's findings"


class Core:
    """The machine without its calls.

    ``pool`` is the part of ``shared`` that pinned and managed memory is taken from; ``parameters`` are the names that
    kernels give their parameters, and ``registers`` what `ptxas` says that a thread of a kernel needs, where known.
    """

    def __init__(
        self,
        module: Module,
        shared: Bytes,
        *,
        cache: CodeCache,
        options: Options | None = None,
        devices: int = 1,
        model: Model = A100,
        pool: tuple[int, int] = (0, 0),
        host_file: str = "",
        parameters: Mapping[str, Sequence[str]] | None = None,
        registers: Mapping[str, int] | None = None,
    ) -> None:
        self.module, self.cache, self.model = module, cache, model
        self.options = options or Options()
        self.devices, self.registers = devices, registers or {}
        self.space = Space(shared, pool, devices, model.memory_bytes)
        self.gpu = Gpu(module, cache, self.options, parameters or {})
        self.space.variables = self.gpu.variables()
        self.managed = Managed()
        self.executor = Executor(self.space, self.gpu, self.managed, model, host_file)
        self.streams = Streams(devices)
        self.clock = Clock(model)
        self.persisting_limit = 0  # of the L2 cache, bytes
        self._earlier = Findings()  # of the setup, and of runs before this one
        self._graded = False
        self._history: list[Operation] = []  # tasks that the host has not waited for, of this run and earlier ones
        self._first = 1  # number of the first operation of this run

    # -- runs -------------------------------------------------------------------------------------------------------
    def bind(self, arrays: Arrays) -> None:
        """Names for the exercise's arrays in the shared file: offset, bytes, dtype and role of each."""
        self.space.bind(arrays)

    def begin_setup(self, arrays: Arrays) -> None:
        """The host file's `setup` is called: the streams that it makes are numbered from the first one on."""
        self.bind(arrays)
        self.streams.renumber()

    def begin_run(self, arrays: Arrays, graded: bool) -> None:
        """Counters, launches and the timeline start anew; what is queued stays queued, and memory stays as it is.

        What was found before a graded run is told with it, where the run does not repeat it.
        """
        self.bind(arrays)
        self._graded = self.gpu.counting = graded
        self._earlier.carry(self.executor.findings)
        self.executor.launches, self.executor.tally, self.executor.findings = Launches(), Tally(), Findings()
        self.executor.tally.counted["device_bytes"] = sum(self.space.used)
        self.clock.restart()
        self._first = self.streams.chains.issued + 1

    def end_run(self) -> RunReport:
        """The host file's `run()` has returned: what is still queued comes too late."""
        late = self._drain()
        self._find_conflicts()
        self._find_unfinished(late)
        timeline = self.clock.timeline(frozenset())
        counted = self.executor.tally.counted | {"modelled_overlap": overlap(self.clock.timeline(frozenset(late)))}
        outcome = self.executor.launches.outcome()
        findings = self.executor.findings
        if self._graded:
            findings.carry(self._earlier)
        self._forget()
        return RunReport(outcome, findings.all(), counted, timeline, outcome.complete)

    def _drain(self) -> list[Operation]:
        """Execute what nobody waited for, to see what it touches; the host's memory stays as it was."""
        late = [op for op in missing(self.streams.queued) if op.task is not None]
        if late:
            kept = self.space.shared.copy()
            self._execute(self.streams.queued)
            self.space.shared[:] = kept
        return sorted(late, key=lambda op: op.number)

    def _find_conflicts(self) -> None:
        found = sorted(conflicts(self._history, self._first), key=lambda c: c.first.number < self._first)
        for conflict in found:  # those with an operation of an earlier run come last
            earlier = conflict.first.number < self._first
            told = say.missing_wait(self.executor.words, conflict, earlier=earlier)
            self.executor.findings.add(told, conflict.first.job.where, consequence=earlier)

    def _find_unfinished(self, late: Sequence[Operation]) -> None:
        host = [op for op in late if op.footprint is not None and len(self.space.of_host(op.footprint.touched))]
        if host and not self.executor.launches.fault:
            self.executor.findings.add(say.unfinished(self.executor.words, host))

    def _forget(self) -> None:
        """Drop what cannot matter to a later run."""
        chains = self.streams.chains
        self._history = [op for op in self._history if not chains.is_known(op)]
        for op in self._history:
            op.before = ()
        self.executor.watch.forget()
        self.streams.forget_history()

    # -- issuing and waiting ----------------------------------------------------------------------------------------
    def issue(self, task: Task, stream: Stream) -> Operation | None:
        """Queue a task; None where it became part of a graph."""
        op = self.streams.issue(task, stream)
        self.issued([op] if op is not None else [])
        return op

    def issued(self, ops: Sequence[Operation]) -> None:
        """These were queued by one call."""
        self.managed.look()
        for op in ops:
            if op.task is None:
                continue
            self._history.append(op)
            self.executor.watch.queued(op)
            self.executor.tally.issued(op)
        self.clock.call(*ops)

    def mark(self) -> None:
        """A call that queued no task, but cost time."""
        self.clock.call()

    def wait(self, wanted: Iterable[Operation]) -> None:
        """The host waits for these. Raises CudaError after a kernel's fault."""
        wanted = list(wanted)
        if self._execute(wanted):
            self.executor.tally.waited()
        for op in wanted:
            self.streams.chains.waited(op)
        self.clock.wait(wanted)
        self.check_fault()

    def check_fault(self) -> None:
        if self.executor.launches.fault:
            raise CudaError(self.executor.launches.fault, FAULT)

    def force(self, wanted: Iterable[Operation]) -> bool:
        """Execute these, without the host's knowing; whether there was anything to do."""
        return self._execute(list(wanted))

    def _execute(self, wanted: Sequence[Operation]) -> bool:
        worked = False
        for op in hostile(wanted):
            self.executor.execute(op)
            worked = worked or op.task is not None
        self.streams.forget_done()
        return worked

    def refuse_while_capturing(self, what: str, streams: Iterable[Stream]) -> None:
        """Raises CudaError where one of the streams is being captured; that breaks the capture off."""
        for stream in streams:
            if stream.capture is not None:
                message = (
                    f"{what} is not possible while stream {stream.number} is being captured: "
                    "a capture only records what is to be done"
                )
                stream.capture.broken = message
                raise CudaError("cudaErrorStreamCaptureUnsupported", message)
