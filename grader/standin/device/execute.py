"""Doing one operation: bytes that move, kernels that run, what that touched, and how long a GPU would take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from grader.findings.sentences.hostfile import location
from grader.simt.counters import SECTOR_BYTES, Counters, WarpRequest
from grader.simt.events import Event, merge
from grader.simt.simulate import Call, Outcome
from grader.standin.device import findings as say
from grader.standin.device.findings import Findings, Records
from grader.standin.device.gpu import LaunchResult, SimulatedGpu, launched, parameters_of
from grader.standin.device.host_writes import HostWriteWatch, Outputs, Staged, changed_under
from grader.standin.device.managed import Managed, PageFault
from grader.standin.device.memory import HostArray, MemoryRegion, Space
from grader.standin.device.modelled_time import Model
from grader.standin.device.operations import HOST, Copy, KernelLaunch, Memset, Prefetch, StreamOperation
from grader.standin.device.persisting import Persistence, Policy, kept
from grader.standin.device.report import Tally
from grader.standin.device.spans import NONE, Footprint, Spans, clip, span, total

STRAY = ("out_of_bounds", "use_after_free")
"""Kinds of events that may be about memory which the kernel only may not use."""

FAULTS = {
    "misaligned": "cudaErrorMisalignedAddress", "assert": "cudaErrorAssert", "trap": "cudaErrorLaunchFailure",
    "bad_mask": "cudaErrorLaunchFailure", "launch_limit": "cudaErrorLaunchOutOfResources",
    "out_of_bounds": "cudaErrorIllegalAddress", "null": "cudaErrorIllegalAddress",
    "read_only": "cudaErrorIllegalAddress", "use_after_free": "cudaErrorIllegalAddress",
}  # fmt: skip
"""What CUDA says of a kernel that ended early; of one that did not end, cudaErrorLaunchTimeout."""


@dataclass(eq=False)
class Launches:
    """The launches of one run, as `simulate.Outcome` has them."""

    calls: list[Call] = field(default_factory=list)
    counters: list[Counters] = field(default_factory=list)
    worst: list[tuple[WarpRequest, ...]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    printed: str = ""
    fault: str = ""  # CUDA's name for how a kernel ended early

    def outcome(self) -> Outcome:
        return Outcome(
            {}, tuple(self.calls), tuple(self.counters), tuple(self.worst), tuple(merge(self.events)), self.printed,
            not self.fault,
        )  # fmt: skip


@dataclass(frozen=True)
class Traffic:
    """Bytes that one kernel moved: each of its own device's memory once, sectors of the rest as often as asked for."""

    local: int
    mapped: int
    peer: int
    faulted: int


class Executor:
    """Executes operations one by one; keeps what came of it."""

    def __init__(self, space: Space, gpu: SimulatedGpu, managed: Managed, model: Model, hostfile: str) -> None:
        self.space, self.gpu, self.managed, self.model = space, gpu, managed, model
        self.records = Records(hostfile, space)
        self.peers: set[tuple[int, int]] = set()  # (device, peer that its kernels may use)
        self.watch = HostWriteWatch(space)
        self.last_of_setup = 0  # the number of setup()'s last operation
        self.restart()

    def restart(self, arrays: Sequence[HostArray] = ()) -> None:
        """A run begins, and so does all that is told of it. Of ``arrays``, the outputs are watched."""
        self.launches, self.findings, self.tally = Launches(), Findings(), Tally()
        self.tally.most("device_bytes", sum(self.space.used))
        self.managed.restart()
        self.staged = Staged()
        for region in self.space.pinned() if arrays else ():
            self.staged.watch(region)
        self.l2, self.outputs = Persistence(), Outputs(self.space, arrays)
        self.page_faults: list[tuple[StreamOperation, PageFault]] = []

    def execute(self, op: StreamOperation) -> None:
        """Do it. After a kernel's fault, nothing is done any more."""
        if op.task is None or self.launches.fault:
            op.duration_s = 0.0
            return
        work, changed = op.task.work, self.watch.begins(op)
        if isinstance(work, Copy):
            self._copy(op, work)
        elif isinstance(work, Memset):
            self._fill(op, work)
        elif isinstance(work, Prefetch):
            self._prefetch(op, work)
        else:
            self._kernel(op, work)
        if op.footprint is not None:
            self._done(op, op.footprint, changed)

    def _done(self, op: StreamOperation, footprint: Footprint, changed: Spans) -> None:
        """Memory that operations write is not memory that the host writes."""
        written = footprint.changed
        self.managed.remember(written)
        self.watch.wrote(written)
        self.outputs.wrote(written)
        self.staged.wrote(written)
        address = changed_under(changed, footprint) if len(changed) else None
        if address is not None:
            of_setup = op.number <= self.last_of_setup
            self.findings.add(say.host_conflict(self.records, op, address, of_setup=of_setup))

    # -- copies and fills -------------------------------------------------------------------------------------------
    def _copy(self, op: StreamOperation, work: Copy) -> None:
        reads = span(work.source, work.size) if isinstance(work.source, int) else NONE
        writes = span(work.target, work.size) if isinstance(work.target, int) else NONE
        op.footprint = Footprint(reads, writes)
        op.size = work.size
        op.duration_s = self._copy_time(op, work)
        if not self._is_freed(op, op.footprint) and not self._is_unpinned(op, work):
            self._move(work)
            self._see_unwritten(op, work)
            self.tally.add("peer_bytes", work.size * (op.job.kind == "peer"))

    def _move(self, work: Copy) -> None:
        data = work.source if isinstance(work.source, bytes) else self.space.view(work.source, work.size).tobytes()
        if isinstance(work.target, int):
            self.space.view(work.target, work.size)[:] = memoryview(data)
            self._written(work.target, work.size, work.source)
        else:
            work.target[:] = data
            self.outputs.gave(np.frombuffer(data, np.uint8))

    def _see_unwritten(self, op: StreamOperation, work: Copy) -> None:
        """Say where all that the host gets is what was there when the memory was allocated."""
        source = work.source
        if op.job.kind != "to_host" or not isinstance(source, int) or not self._is_watched(source):
            return
        if self.gpu.is_unwritten(source, work.size):
            self.findings.add(say.unwritten_copy(self.records, op, source, work.size))

    def _written(self, start: int, size: int, source: int | bytes = b"") -> None:
        """Memory is no longer fresh; but a copy of fresh memory is as fresh as that."""
        if self._is_watched(start):
            if isinstance(source, int) and self._is_watched(source):
                self.gpu.copied(start, source, size)
            else:
                self.gpu.written(start, size)

    def _is_watched(self, address: int) -> bool:
        """Whether it is memory of which is known who wrote it."""
        region = self.space.at(address)
        return region is not None and region.kind in ("device", "managed")

    def _is_freed(self, op: StreamOperation, footprint: Footprint) -> bool:
        """Whether memory that a copy or a fill uses is gone: nothing is moved then."""
        starts = [*footprint.reads[:, 0].tolist(), *footprint.writes[:, 0].tolist()]
        gone = [start for start in starts if self.space.freed(start) is not None]
        for start in gone:
            self.findings.add(say.use_after_free(self.records, op, start))
        return bool(gone)

    def _is_unpinned(self, op: StreamOperation, work: Copy) -> bool:
        """Whether a copy that was queued for pinned memory finds that it is pinned no more: nothing is moved then."""
        ends = [end for end in (work.source, work.target) if isinstance(end, int) and not work.pageable]
        gone = [end for end in ends if self.space.unpinned(end) is not None]
        for end in gone:
            self.findings.add(say.unpinned(self.records, op, end))
        return bool(gone)

    def _copy_time(self, op: StreamOperation, work: Copy) -> float:
        model, kind = self.model, op.job.kind
        rate = {"on_device": model.bandwidth / 2, "peer": model.peer_bytes_per_s, "on_host": model.pageable_bytes_per_s}
        link = model.pageable_bytes_per_s if work.pageable else model.link_bytes_per_s
        return model.link_latency_s + work.size * model.scale / rate.get(kind, link)

    def _fill(self, op: StreamOperation, work: Memset) -> None:
        op.footprint = Footprint(writes=span(work.address, work.size))
        op.size = work.size
        op.duration_s = self.model.launch_s + work.size * self.model.scale / self.model.bandwidth
        if not self._is_freed(op, op.footprint):
            self.space.view(work.address, work.size)[:] = work.value
            self._written(work.address, work.size)

    def _prefetch(self, op: StreamOperation, work: Prefetch) -> None:
        moved, arrived = self.managed.move(op, work)
        self.tally.add("prefetched_bytes", arrived * (work.device != HOST))
        op.size = work.size
        op.duration_s = self.model.link_latency_s + moved * self.model.scale / self.model.link_bytes_per_s

    # -- kernels ----------------------------------------------------------------------------------------------------
    def _kernel(self, op: StreamOperation, work: KernelLaunch) -> None:
        device = op.job.device
        ran = self.gpu.launch(work, self._hidden(device), self.region_name, len(self.launches.calls))
        self._keep(ran)
        self._explain(op, ran)
        op.footprint = ran.footprint
        if work.policy is not None:
            self.tally.most("persisting_bytes", self._persisting(work.name, work.policy, ran.footprint))
        op.duration_s = self._kernel_time(op, work, ran, self._traffic(op, ran))

    def _persisting(self, kernel: str, policy: Policy, footprint: Footprint) -> int:
        """Bytes of the kernel's access-policy window that can stay in the L2 cache."""
        base = policy.window.base
        region, name = self.space.at(base), self.space.name(base)
        return self.l2.launched(policy, kept(policy, kernel, footprint.reads, region, name))

    def _hidden(self, device: int) -> Callable[[MemoryRegion], bool]:
        """Memory of other devices, unless they are peers."""
        return lambda r: r.kind == "device" and r.device != device and (device, r.device) not in self.peers

    def region_name(self, region: MemoryRegion) -> str:
        """As findings of kernels call it: the array's own name, for a copy on the device too."""
        return self.space.copied_name(region.start) or f"({self.space.name(region.start)})"

    def parameter(self, op: StreamOperation, region: MemoryRegion) -> str:
        """What the kernel calls a region that it got the address of; "" where that is not known."""
        work = op.job.work
        if not isinstance(work, KernelLaunch):
            return ""
        addresses = (int.from_bytes(given, "little") for given in work.arguments)
        names = zip(addresses, self.gpu.parameters(work.name), strict=False)
        return next((name for address, name in names if region.start <= address < region.end), "")

    def written_name(self, op: StreamOperation, address: int) -> str:
        """What a kernel writes at an address, by its parameter where that is known."""
        region = self.space.at(address)
        parameter = self.parameter(op, region) if region is not None else ""
        return f"`{parameter}`" if parameter else self.space.name(address)

    def _keep(self, ran: LaunchResult) -> None:
        launches = self.launches
        if ran.call is not None and ran.counters is not None:
            launches.calls.append(ran.call)
            launches.counters.append(ran.counters)
            launches.worst.append(ran.worst)
        self._print(ran)
        if not ran.complete:
            kind = next((e.kind for e in ran.events if e.kind in FAULTS), "")
            launches.fault = FAULTS.get(kind, "cudaErrorLaunchTimeout")

    def _print(self, ran: LaunchResult) -> None:
        launches, limit = self.launches, self.gpu.options.printf_bytes
        launches.printed += ran.printed
        if len(launches.printed) > limit:
            launches.printed = launches.printed[:limit]
            if ran.call is not None and not any(event.kind == "print_limit" for event in launches.events):
                launches.events.append(Event("print_limit", ran.call.kernel, None, (0, 0, 0), (0, 0, 0)))

    def _explain(self, op: StreamOperation, ran: LaunchResult) -> None:
        """Findings of the kernel; a stray access to memory that the host file has to do with is the host file's."""
        for event in ran.events:
            if not (event.kind in STRAY and event.address is not None and self._is_of_host(op, event.address)):
                self.launches.events.append(self._launched(op, event))

    def _launched(self, op: StreamOperation, event: Event) -> Event:
        """A finding in a kernel comes with its launch, whose arguments may be at fault."""
        name = op.job.name
        parameters = parameters_of(self.gpu.elements(name), self.gpu.parameters(name))
        place = location(self.records.place(op)) or self.records.file
        return replace(event, launch=launched(self.space, op, parameters, place), launched_at=place)

    def _is_of_host(self, op: StreamOperation, address: int) -> bool:
        region = self.space.at(address)
        if self.space.freed(address) is not None:
            found = say.use_after_free(self.records, op, address)
        elif region is not None and self._hidden(op.job.device)(region):
            found = say.out_of_reach(self.records, op, address, region.device)
        elif self.space.is_unpinned(address):
            found = say.out_of_reach(self.records, op, address)
        else:
            return False
        self.findings.add(found)
        return True

    def _traffic(self, op: StreamOperation, ran: LaunchResult) -> Traffic:
        """What a kernel moved, and between which memories; counted, too."""
        device = op.job.device
        faults, in_place = self.managed.touch(ran.footprint, device)
        self.page_faults += [(op, fault) for fault in faults]
        pinned = sum(u.sectors for u in ran.used if u.region.kind == "pinned")
        foreign = sum(u.sectors for u in ran.used if u.region.kind == "device" and u.region.device != device)
        touched = ran.footprint.touched
        near = [u.region for u in ran.used if u.region.kind != "pinned" and u.region.device == device]
        moved = Traffic(
            sum(total(clip(touched, region.start, region.end)) for region in near),
            pinned * SECTOR_BYTES + in_place, foreign * SECTOR_BYTES, sum(f.size for f in faults),
        )  # fmt: skip
        self.tally.add("mapped_bytes", moved.mapped)
        self.tally.add("peer_bytes", moved.peer)
        self.tally.add("faulted_bytes", moved.faulted)
        return moved

    def _kernel_time(self, op: StreamOperation, work: KernelLaunch, ran: LaunchResult, moved: Traffic) -> float:
        """The longest of what it moves and what it computes."""
        model = self.model
        counted = ran.counters.total if ran.counters is not None else {}
        blocks = work.grid[0] * work.grid[1] * work.grid[2] * model.scale
        busy = min(model.multiprocessors, max(1.0, blocks))
        longest = max(
            moved.local / model.bandwidth, SECTOR_BYTES * counted.get("sectors", 0.0) / model.l2_bandwidth,
            moved.mapped / model.link_bytes_per_s, moved.peer / model.peer_bytes_per_s,
            moved.faulted / model.fault_bytes_per_s,
            counted.get("instructions", 0.0) / (busy * model.warp_instructions_per_s),
        )  # fmt: skip
        return (model.graph_node_s if op.in_graph else model.launch_s) + longest * model.scale
