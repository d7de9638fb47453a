"""What all calls of the device share: issuing operations, waiting for them, and runs from begin to end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grader.findings.record import Finding
from grader.simt.engine.code_cache import CodeCache
from grader.simt.ptx import Module
from grader.simt.simulate import Options
from grader.standin.device import findings as say
from grader.standin.device.execute import Executor
from grader.standin.device.findings import Findings
from grader.standin.device.gpu import SimulatedGpu
from grader.standin.device.managed import Managed
from grader.standin.device.memory import Arrays, Bytes, Kind, MemoryRegion, Space
from grader.standin.device.modelled_time import A100, Clock, Model
from grader.standin.device.operations import (
    KernelLaunch,
    Prefetch,
    StreamOperation,
    StreamTask,
    conflicts,
    latest_first,
    missing,
    mistaken_wait,
)
from grader.standin.device.persisting import SetAside
from grader.standin.device.report import IssuedRun, RunReport, why_no_overlap
from grader.standin.device.spans import Footprint, Spans
from grader.standin.device.streams import DeviceStream, Streams
from grader.standin.protocol import CudaRefusal

STAGED_PART = 0.25
"""Of the exercise's arrays, what the host may move by itself without a note."""
FAULT = "a kernel ended with a fault, and nothing can be done on this GPU any more: see the kernel's findings"


class DeviceCore:
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
        hostfile: str = "",
        parameters: Mapping[str, Sequence[str]] | None = None,
        registers: Mapping[str, int] | None = None,
    ) -> None:
        self.module, self.cache, self.model = module, cache, model
        self.options = options or Options()
        self.devices, self.registers = devices, registers or {}
        self.space = Space(shared, pool, devices, model.memory_bytes)
        self.gpu = SimulatedGpu(module, cache, self.options, parameters or {})
        self.space.variables = self.gpu.variables()
        self.managed = Managed(self.gpu.written)
        self.executor = Executor(self.space, self.gpu, self.managed, model, hostfile)
        self.streams = Streams(devices)
        self.clock = Clock(model)
        self.set_aside = SetAside()  # of the L2 cache
        self._earlier = Findings()  # of the setup, and of runs before this one
        self._graded = False
        self._history: list[StreamOperation] = []  # tasks of this run, and earlier ones that nobody has waited for
        self._first = 1  # number of the first operation of this run
        self._written_under: dict[StreamOperation, int] = {}  # kernels, with what the host wrote while they were queued
        self._is_setting_up = True
        self._dropped: list[tuple[int, int]] = []  # line and address of memory that goes back at the end of the run
        self.asked: dict[tuple[str, int], frozenset[int]] = {}  # what a `query` has found to be left, by what it was

    # -- runs -------------------------------------------------------------------------------------------------------
    def bind(self, arrays: Arrays) -> None:
        """Names for what lies in the shared file."""
        self.space.bind(arrays)

    def begin_setup(self, arrays: Arrays) -> None:
        """The host file's `setup` is called: a new case begins, and what was found in others was told with them.

        The streams that it makes are numbered from the first one on.
        """
        self.bind(arrays)
        self._is_setting_up, self._history = True, []
        self._earlier, self.executor.findings = Findings(), Findings()
        self.streams.renumber()

    def begin_run(self, arrays: Arrays, graded: bool) -> None:
        """Counters, launches and the timeline start anew; what is queued stays queued, and memory stays as it is.

        What was found before a graded run is told with it, where the run does not repeat it.
        """
        self.bind(arrays)
        self._graded = self.gpu.counting = graded
        self._earlier.carry(self.executor.findings)
        self.executor.restart(self.space.arrays if graded else ())
        self._written_under = {}
        self.clock.restart()
        self._first = self.streams.chains.issued + 1
        if self._is_setting_up:
            self._is_setting_up, self.executor.last_of_setup = False, self._first - 1
            for capture in dict.fromkeys(s.capture for s in self.streams.capturing() if s.capture is not None):
                # There is no graph, and the stream only records: that is beside what goes wrong in run().
                begun = self.executor.records.at("still_capturing", capture.line, stream=capture.origin.number)
                self.executor.findings.add(begun)
        self.executor.records.occurrences.restart(self._first)

    def end_run(self) -> RunReport:
        """The host file's `run()` has returned: what is still queued comes too late."""
        tally, own = self.executor.tally, self.executor.outputs.written_by_host()
        tally.add("host_written_bytes", own)
        tally.add(
            "staged_bytes", self.executor.outputs.changed_by_host() - own + self.executor.staged.written_by_host()
        )
        late = self._drain()
        self._find_conflicts()
        self._find_unfinished(late)
        self._find_causes()
        notes_beside = (*self._idle_window(), *self._why_no_overlap())
        timeline = self.clock.timeline()
        counted = self.executor.tally.counted | {"modelled_overlap": self.clock.overlap(frozenset(late))}
        outcome = self.executor.launches.outcome()
        findings = self.executor.findings
        if self._graded:
            findings.carry(self._earlier)
        self._forget()
        self._take_back()
        return RunReport(outcome, (*findings.all(), *notes_beside), counted, timeline, outcome.complete)

    def _drain(self) -> list[StreamOperation]:
        """Execute what nobody waited for, to see what it touches; the host's memory stays as it was."""
        late = [op for op in missing(self.streams.queued) if op.task is not None]
        if late:
            before = [(part, part.copy()) for part in self.space.host_parts()]
            self._execute(self.streams.queued)
            for part, content in before:
                part[:] = content
        return sorted(late, key=lambda op: op.number)

    def _find_conflicts(self) -> None:
        found = sorted(conflicts(self._history, self._first), key=lambda c: c.first.number < self._first)
        for conflict in found:  # those with an operation of an earlier run come last
            when = self._when(conflict.first)
            wait = None if when else mistaken_wait(conflict, self._history, self._first)
            finding = say.missing_wait(self.executor.records, conflict, when, wait)
            self.executor.findings.add(finding, conflict.first.job.line, consequence=bool(when))

    def _when(self, op: StreamOperation) -> str:
        """When it was queued, if not in this run."""
        if op.number >= self._first:
            return ""
        return say.IN_SETUP if op.number <= self.executor.last_of_setup else say.EARLIER_RUN

    def _find_unfinished(self, late: Sequence[StreamOperation]) -> None:
        host = [op for op in late if op.footprint is not None and len(self._of_host(op, op.footprint))]
        if host and not self.executor.launches.fault:
            self.executor.findings.add(say.unfinished(self.executor.records, host))

    def _idle_window(self) -> tuple[Finding, ...]:
        """What is in the way where an access-policy window keeps less than it was to, in this run."""
        launched = [op for op in self._history if op.number >= self._first and op.job.kind == "kernel"]
        if not launched or self._is_setting_up or self.executor.launches.fault:
            return ()
        streams = [((s.number, s.device), window) for s, window in self.streams.windows()]
        busy = dict.fromkeys((op.stream, op.job.device) for op in launched)
        trouble = self.executor.l2.trouble(streams, list(busy), self.set_aside)
        return () if trouble is None else (say.l2_window(self.executor.records, *trouble),)

    def _why_no_overlap(self) -> tuple[Finding, ...]:
        """Why the engines do not work side by side, for who is graded on that."""
        mine = [op for op in self._history if op.number >= self._first]
        if not mine or not self._graded:
            return ()
        run = IssuedRun(mine, self.executor.tally.wait_lines, self.streams.blocking_chains(), self.clock.host_part())
        found = why_no_overlap(run, self.executor.records)
        return () if found is None else (found,)

    def _find_causes(self) -> None:
        """What is no mistake by itself, and says why a result is wrong or pages move late."""
        executor = self.executor
        for op, address in self._written_under.items():
            result = self.space.of_host((op.footprint or Footprint()).changed)
            if len(result) and op.number > executor.last_of_setup:
                name = executor.written_name(op, int(result[0, 0]))
                executor.findings.add(say.read_too_early(executor.records, op, address, name))
        for array in executor.outputs.untouched():
            copies = (op for op in self._history if op.number >= self._first and op.task is not None)
            same = [op for op in copies if op.job.kind == "to_host" and op.size == array.size]
            if same:
                executor.findings.add(say.brought_elsewhere(executor.records, same[-1], array.name))
        if executor.page_faults and self._graded:
            op, fault = max(executor.page_faults, key=lambda found: found[1].size)
            executor.findings.add(say.page_faults(executor.records, op, fault, executor.parameter(op, fault.region)))
        moved = executor.tally.counted["staged_bytes"]
        if self._graded and moved >= STAGED_PART * sum(array.size for array in self.space.arrays) > 0:
            executor.findings.add(executor.records.at("staged", 0, bytes=moved))

    def _of_host(self, op: StreamOperation, footprint: Footprint) -> Spans:
        """What must not be left to the time behind a run; what setup() queued may still be reading."""
        of_setup = op.number <= self.executor.last_of_setup
        return self.space.of_host(footprint.changed if of_setup else footprint.touched)

    def _take_back(self) -> None:
        """Memory that pools gave back: nothing that is queued can use it any more."""
        for line, address in self._dropped:
            region = self.space.at(address)
            if region is not None and region.start == address and region.kind in ("device", "managed"):
                region.was_dropped = True
                self.release(line, address, "device", "managed")
        self._dropped = []

    def release(self, line: int, address: int, *kinds: Kind, registered: bool = False) -> MemoryRegion:
        """Memory of one of these kinds is gone, by its first address. Raises CudaRefusal where there is none."""
        region = self.space.release(address, kinds, line, registered=registered)
        self.gpu.remove(region)
        self.managed.remove(region)
        self.mark()
        return region

    def _forget(self) -> None:
        """Drop what cannot matter to a later run."""
        chains = self.streams.chains
        self._history = [op for op in self._history if not chains.is_known(op)]
        for op in self._history:
            op.before = ()
        self.executor.watch.forget()
        self.asked.clear()
        self.streams.forget_history()
        self.clock.changed()

    # -- issuing and waiting ----------------------------------------------------------------------------------------
    def issue(self, task: StreamTask, stream: DeviceStream) -> StreamOperation | None:
        """Queue a task; None where it became part of a graph."""
        op = self.streams.issue(task, stream)
        self.issued([op] if op is not None else [])
        return op

    def issued(self, ops: Sequence[StreamOperation]) -> None:
        """These were queued by one call."""
        self._look(new=ops)
        capture = next((stream.capture for stream in self.streams.capturing()), None)
        for op in ops:
            if op.task is None:
                continue
            if capture is not None and not op.in_graph:
                op.beside = capture.origin.number
                self.executor.findings.add(say.not_captured(self.executor.records, op, capture.line))
            if isinstance(op.task.work, Prefetch):
                self.managed.prefetches(op)
            self._history.append(op)
            self.executor.records.occurrences.count(op)
            self.executor.watch.queued(op)
            self.executor.tally.issued(op)
        self.clock.call(*ops)

    def _look(self, new: Sequence[StreamOperation] = ()) -> None:
        """Whether the host has written managed memory meanwhile, and under which kernels, but for ``new`` ones."""
        address = self.managed.look()
        if address is not None:
            since = min((op.number for op in new), default=self.streams.chains.issued + 1)
            for op in self.streams.queued:
                if op.number < since and op.task is not None and isinstance(op.task.work, KernelLaunch):
                    self._written_under.setdefault(op, address)

    def mark(self, op: StreamOperation | None = None) -> None:
        """A call that queued no task, but cost time; ``op`` is the mark that it left in a stream, if any."""
        self.clock.call(*([] if op is None else [op]))

    def wait(self, line: int, wanted: Iterable[StreamOperation]) -> None:
        """The host waits for these, at line ``line``. Raises CudaRefusal after a kernel's fault."""
        wanted = list(wanted)
        if self._execute(wanted):
            self.executor.tally.waited(line)
        for op in wanted:
            self.streams.chains.waited(op)
        self.clock.wait(wanted)
        self.check_fault()

    def check_fault(self) -> None:
        if self.executor.launches.fault:
            raise CudaRefusal(self.executor.launches.fault, FAULT)

    def _execute(self, wanted: Sequence[StreamOperation]) -> bool:
        worked = False
        self._look()
        for op in latest_first(wanted):
            self.executor.execute(op)
            worked = worked or op.task is not None
        self.clock.changed()
        self.streams.forget_done()
        return worked

    def check_device(self, device: int) -> None:
        """Raises CudaRefusal where there is no such device."""
        if not 0 <= device < self.devices:
            there = "only device 0" if self.devices == 1 else f"devices 0 to {self.devices - 1}"
            raise CudaRefusal("cudaErrorInvalidDevice", f"there is no device {device}: this machine has {there}")

    def refuse_while_capturing(self, what: str, streams: Iterable[DeviceStream]) -> None:
        """Raises CudaRefusal where one of the streams is being captured; that breaks the capture off."""
        for stream in streams:
            if stream.capture is not None:
                raise stream.capture.break_off(
                    "cudaErrorStreamCaptureUnsupported",
                    f"{what} is not possible while stream {stream.number} is being captured: a capture only records "
                    f"what is to be done, and {stream.capture.begun} (end_capture)",
                )

    def refuse_unsafe(self, what: str) -> None:
        """Raises CudaRefusal for what no capture allows while it runs, unless it is relaxed; that breaks it off."""
        for stream in self.streams.capturing():
            if stream.capture is not None and not stream.capture.relaxed:
                raise stream.capture.break_off(
                    "cudaErrorStreamCaptureUnsupported",
                    f"{what} is not possible while stream {stream.number} is being captured in a mode that is not "
                    f"relaxed: do it before the capture, or leave the mode of begin_capture() out",
                )
