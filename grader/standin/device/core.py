"""What all calls of the device share: issuing operations, waiting for them, and a run from begin to end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grader.findings.record import Finding
from grader.simt.engine.code_cache import CodeCache
from grader.simt.ptx import Module
from grader.simt.simulate import Options
from grader.standin.device import findings as host_findings
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
"""The part of the exercise's bytes that the host may write to staging buffers without a note in the report."""
FAULT = "a kernel ended with a fault, and this GPU can do nothing more: see the kernel's findings"


class DeviceCore:
    """The simulated machine without its calls.

    ``pool`` is the range of ``shared`` (begin, end in bytes) for pinned and managed allocations; ``parameters`` are the
    names of each kernel's parameters, ``registers`` the registers per thread that `ptxas` reports, where known, and
    ``max_threads`` the threads of a block that a kernel's `__launch_bounds__` allow, where it has any.
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
        max_threads: Mapping[str, int] | None = None,
    ) -> None:
        self.module, self.cache, self.model = module, cache, model
        self.options = options or Options()
        self.devices, self.registers, self.max_threads = devices, registers or {}, max_threads or {}
        self.space = Space(shared, pool, devices, model.memory_bytes)
        self.gpu = SimulatedGpu(module, cache, self.options, parameters or {})
        self.space.variables = self.gpu.variables()
        self.managed = Managed(self.gpu.written)
        self.executor = Executor(self.space, self.gpu, self.managed, model, hostfile)
        self.streams = Streams(devices)
        self.clock = Clock(model)
        self.set_aside = SetAside()  # the part of the L2 cache that cudaLimitPersistingL2CacheSize sets aside
        self._earlier = Findings()  # of the setup, and of runs before this one
        self._graded = False
        self._history: list[StreamOperation] = []  # tasks of this run, and earlier ones that the host has not awaited
        self._first = 1  # number of the first operation of this run
        self._written_under: dict[StreamOperation, int] = {}  # queued kernels: the address that the host wrote
        self._is_setting_up = True
        self._dropped: list[tuple[int, int]] = []  # line and address of memory that is freed at the end of the run
        self.pending_at_query: dict[tuple[str, int], frozenset[int]] = {}  # operations that the last `query` found

    # -- runs -------------------------------------------------------------------------------------------------------
    def bind(self, arrays: Arrays) -> None:
        """Set the exercise's arrays, which are in the shared file."""
        self.space.bind(arrays)

    def begin_setup(self, arrays: Arrays) -> None:
        """The host file's `setup` is called: a new case begins, without the findings of the cases before it.

        The numbers of new streams start again at the first.
        """
        self.bind(arrays)
        self._is_setting_up, self._history = True, []
        self._earlier, self.executor.findings = Findings(), Findings()
        self.streams.renumber()

    def begin_run(self, arrays: Arrays, graded: bool) -> None:
        """Reset counters, launches and the timeline; queued operations stay queued, and memory keeps its contents.

        The report of a graded run includes earlier findings that the run does not repeat.
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
                # There is no graph yet, and the stream only records: this explains what goes wrong in run().
                capturing = self.executor.records.at("still_capturing", capture.line, stream=capture.origin.number)
                self.executor.findings.add(capturing)
        self.executor.records.occurrences.restart(self._first)

    def end_run(self) -> RunReport:
        """The host file's `run()` has returned: the results of operations that are still pending come too late."""
        tally, outputs = self.executor.tally, self.executor.outputs
        host_written = outputs.written_by_host()
        tally.add("host_written_bytes", max(host_written, outputs.sent_back()))
        tally.add("staged_bytes", outputs.changed_by_host() - host_written + self.executor.staged.written_by_host())
        late = self._drain()
        self._find_conflicts()
        self._find_unfinished(late)
        self._find_causes()
        notes_beside = (*self._idle_window(), *self._why_no_overlap())
        timeline = self.clock.timeline()
        overlaps = {
            "modelled_overlap": self.clock.overlap(frozenset(late)),
            "modelled_peer_overlap": self.clock.peer_overlap(),
        }
        counted = self.executor.tally.counted | overlaps
        outcome = self.executor.launches.outcome()
        findings = self.executor.findings
        if self._graded:
            findings.carry(self._earlier)
        self._forget()
        self._take_back()
        return RunReport(outcome, (*findings.all(), *notes_beside), counted, timeline, outcome.complete)

    def _drain(self) -> list[StreamOperation]:
        """Execute the operations that the host did not wait for, to see what they access; restore the host's memory."""
        late = [op for op in missing(self.streams.queued) if op.task is not None]
        if late:
            before = [(part, part.copy()) for part in self.space.host_parts()]
            self._execute(self.streams.queued)
            for part, content in before:
                part[:] = content
        return sorted(late, key=lambda op: op.number)

    def _find_conflicts(self) -> None:
        by_run = sorted(conflicts(self._history, self._first), key=lambda c: c.first.number < self._first)
        for conflict in by_run:  # conflicts with an operation of an earlier run come last
            when = self._when(conflict.first)
            wait = None if when else mistaken_wait(conflict, self._history, self._first)
            finding = host_findings.missing_wait(self.executor.records, conflict, when, wait)
            self.executor.findings.add(finding, conflict.first.job.line, consequence=bool(when))

    def _when(self, op: StreamOperation) -> str:
        """When an operation was queued, if not in this run (`Place.when`)."""
        if op.number >= self._first:
            return ""
        return host_findings.IN_SETUP if op.number <= self.executor.last_of_setup else host_findings.EARLIER_RUN

    def _find_unfinished(self, late: Sequence[StreamOperation]) -> None:
        on_host = [op for op in late if op.footprint is not None and len(self._of_host(op, op.footprint))]
        if on_host and not self.executor.launches.fault:
            self.executor.findings.add(host_findings.unfinished(self.executor.records, on_host))

    def _idle_window(self) -> tuple[Finding, ...]:
        """Why an access-policy window kept less in the L2 cache in this run than it covers."""
        launched = [op for op in self._history if op.number >= self._first and op.job.kind == "kernel"]
        if not launched or self._is_setting_up or self.executor.launches.fault:
            return ()
        streams = [((s.number, s.device), window) for s, window in self.streams.windows()]
        busy = dict.fromkeys((op.stream, op.job.device) for op in launched)
        trouble = self.executor.l2.trouble(streams, list(busy), self.set_aside)
        return () if trouble is None else (host_findings.l2_window(self.executor.records, *trouble),)

    def _why_no_overlap(self) -> tuple[Finding, ...]:
        """Why copies and kernels did not overlap, in a graded run."""
        issued = [op for op in self._history if op.number >= self._first]
        if not issued or not self._graded:
            return ()
        run = IssuedRun(issued, self.executor.tally.wait_lines, self.streams.blocking_chains(), self.clock.host_part())
        finding = why_no_overlap(run, self.executor.records)
        return () if finding is None else (finding,)

    def _find_causes(self) -> None:
        """Findings that are not mistakes by themselves, but explain why a result is wrong or pages migrate late."""
        executor = self.executor
        for op, address in self._written_under.items():
            result = self.space.of_host((op.footprint or Footprint()).changed)
            if len(result) and op.number > executor.last_of_setup:
                name = executor.written_name(op, int(result[0, 0]))
                executor.findings.add(host_findings.read_too_early(executor.records, op, address, name))
        for array in executor.outputs.untouched():
            copies = (op for op in self._history if op.number >= self._first and op.task is not None)
            same = [op for op in copies if op.job.kind == "to_host" and op.size == array.size]
            if same:
                executor.findings.add(host_findings.brought_elsewhere(executor.records, same[-1], array.name))
        if executor.page_faults and self._graded:
            op, fault = max(executor.page_faults, key=lambda op_and_fault: op_and_fault[1].size)
            executor.findings.add(
                host_findings.page_faults(executor.records, op, fault, executor.parameter(op, fault.region))
            )
        moved = executor.tally.counted["staged_bytes"]
        if self._graded and moved >= STAGED_PART * sum(array.size for array in self.space.arrays) > 0:
            executor.findings.add(executor.records.at("staged", 0, bytes=moved))

    def _of_host(self, op: StreamOperation, footprint: Footprint) -> Spans:
        """The host memory that an operation must not access after run(); operations of setup() may still read."""
        of_setup = op.number <= self.executor.last_of_setup
        return self.space.of_host(footprint.changed if of_setup else footprint.touched)

    def _take_back(self) -> None:
        """Free the memory that pools gave back: no queued operation can use it any more."""
        for line, address in self._dropped:
            region = self.space.at(address)
            if region is not None and region.start == address and region.kind in ("device", "managed"):
                region.was_dropped = True
                self.release(line, address, "device", "managed")
        self._dropped = []

    def release(self, line: int, address: int, *kinds: Kind, registered: bool = False) -> MemoryRegion:
        """Free a region of one of these kinds by its first address. Raises CudaRefusal if there is none."""
        region = self.space.release(address, kinds, line, registered=registered)
        self.gpu.remove(region)
        self.managed.remove(region)
        self.mark()
        return region

    def _forget(self) -> None:
        """Drop records that cannot matter to a later run."""
        self.clock.restart()  # before operations forget what they waited for
        chains = self.streams.chains
        self._history = [op for op in self._history if not chains.is_known(op)]
        for op in self._history:
            op.before = ()
        self.executor.watch.forget()
        self.pending_at_query.clear()
        self.streams.forget_history()

    # -- issuing and waiting ----------------------------------------------------------------------------------------
    def issue(self, task: StreamTask, stream: DeviceStream) -> StreamOperation | None:
        """Queue a task; returns None if it became part of a graph."""
        op = self.streams.issue(task, stream)
        self.issued([op] if op is not None else [])
        return op

    def issued(self, ops: Sequence[StreamOperation]) -> None:
        """Record operations that one call has queued."""
        self._see_host_writes(new=ops)
        capture = next((stream.capture for stream in self.streams.capturing()), None)
        for op in ops:
            if op.task is None:
                continue
            if capture is not None and not op.in_graph:
                op.beside = capture.origin.number
                self.executor.findings.add(host_findings.not_captured(self.executor.records, op, capture.line))
            if isinstance(op.task.work, Prefetch):
                self.managed.prefetches(op)
            self._history.append(op)
            self.executor.records.occurrences.count(op)
            self.executor.watch.queued(op)
            self.executor.tally.issued(op)
        self.clock.call(*ops)

    def _see_host_writes(self, new: Sequence[StreamOperation] = ()) -> None:
        """Note which queued kernels were in flight when the host wrote managed memory; ``new`` ones were not."""
        address = self.managed.find_host_writes()
        if address is not None:
            since = min((op.number for op in new), default=self.streams.chains.issued + 1)
            for op in self.streams.queued:
                if op.number < since and op.task is not None and isinstance(op.task.work, KernelLaunch):
                    self._written_under.setdefault(op, address)

    def mark(self, op: StreamOperation | None = None) -> None:
        """Account for a call that queued no task, but takes time; ``op`` is its mark in a stream, if any."""
        self.clock.call(*([] if op is None else [op]))

    def wait(self, line: int, wanted: Iterable[StreamOperation]) -> None:
        """The host waits for these operations, at line ``line``. Raises CudaRefusal after a kernel's fault."""
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
        """Execute operations with their dependencies; whether one of them was a task, not a mark."""
        any_task = False
        self._see_host_writes()
        for op in latest_first(wanted):
            self.executor.execute(op)
            any_task = any_task or op.task is not None
        self.clock.changed()
        self.streams.forget_done()
        return any_task

    def check_device(self, device: int) -> None:
        """Raises CudaRefusal if there is no such device."""
        if not 0 <= device < self.devices:
            existing = "only device 0" if self.devices == 1 else f"devices 0 to {self.devices - 1}"
            raise CudaRefusal("cudaErrorInvalidDevice", f"there is no device {device}: this machine has {existing}")

    def refuse_while_capturing(self, what: str, streams: Iterable[DeviceStream]) -> None:
        """Raises CudaRefusal if one of the streams is being captured; that invalidates the capture."""
        for stream in streams:
            if stream.capture is not None:
                raise stream.capture.break_off(
                    "cudaErrorStreamCaptureUnsupported",
                    f"{what} is not possible while stream {stream.number} is being captured: a capture only records "
                    f"operations, and {stream.capture.begun} (end_capture)",
                )

    def refuse_unsafe(self, what: str) -> None:
        """Raises CudaRefusal for a call that only relaxed captures allow; that invalidates the capture."""
        for stream in self.streams.capturing():
            if stream.capture is not None and not stream.capture.relaxed:
                raise stream.capture.break_off(
                    "cudaErrorStreamCaptureUnsupported",
                    f"{what} is not possible while stream {stream.number} is being captured in a mode that is not "
                    f"relaxed: do it before the capture, or call begin_capture() without a mode",
                )
