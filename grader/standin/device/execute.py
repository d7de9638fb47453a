"""Executing one operation: copying bytes, running kernels, the memory they access, and the time on a modelled GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

import numpy as np

from grader.findings.sentences.hostfile import location
from grader.frozen import dataclass
from grader.simt.counters import SECTOR_BYTES, Counters, WarpRequest
from grader.simt.events import Event, merge
from grader.simt.simulate import Call, Outcome
from grader.standin.device import findings as host_findings
from grader.standin.device.findings import Findings, Records
from grader.standin.device.gpu import LaunchResult, RegionUse, SimulatedGpu, launched, parameters_of
from grader.standin.device.host_writes import HostWriteWatch, Outputs, Staged, changed_under
from grader.standin.device.managed import Managed, PageFault
from grader.standin.device.memory import HostArray, MemoryRegion, Space
from grader.standin.device.modelled_time import Model
from grader.standin.device.operations import HOST, Copy, KernelLaunch, Memset, Prefetch, StreamOperation
from grader.standin.device.persisting import Persistence, Policy, kept
from grader.standin.device.report import Tally
from grader.standin.device.spans import NONE, Footprint, Spans, clip, span, total

STRAY = ("out_of_bounds", "use_after_free")
"""Kinds of events that may be about existing memory which the kernel must not access."""

FAULTS = {
    "misaligned": "cudaErrorMisalignedAddress", "assert": "cudaErrorAssert", "trap": "cudaErrorLaunchFailure",
    "bad_mask": "cudaErrorLaunchFailure", "launch_limit": "cudaErrorLaunchOutOfResources",
    "out_of_bounds": "cudaErrorIllegalAddress", "null": "cudaErrorIllegalAddress",
    "read_only": "cudaErrorIllegalAddress", "use_after_free": "cudaErrorIllegalAddress",
}  # fmt: skip
"""CUDA's error for a kernel that ended early; for a kernel that did not end, it is cudaErrorLaunchTimeout."""


@dataclass(eq=False)
class Launches:
    """The launches of one run, as `simulate.Outcome` has them."""

    calls: list[Call] = field(default_factory=list)
    counters: list[Counters] = field(default_factory=list)
    worst: list[tuple[WarpRequest, ...]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    printed: str = ""
    fault: str = ""  # CUDA's name for how a kernel ended early
    unordered: dict[tuple[str, int], None] = field(default_factory=dict)  # `Kernel.unordered` of all kernels

    def outcome(self) -> Outcome:
        return Outcome(
            {}, tuple(self.calls), tuple(self.counters), tuple(self.worst), tuple(merge(self.events)), self.printed,
            not self.fault, unordered=tuple(self.unordered),
        )  # fmt: skip


@dataclass(frozen=True)
class Traffic:
    """Bytes that one kernel moved. A byte of its device's memory counts once, other sectors as often as requested."""

    local: int
    mapped: int
    peer: int
    faulted: int


class Executor:
    """Executes operations one by one; keeps launches, findings and counters of the run."""

    def __init__(self, space: Space, gpu: SimulatedGpu, managed: Managed, model: Model, hostfile: str) -> None:
        self.space, self.gpu, self.managed, self.model = space, gpu, managed, model
        self.records = Records(hostfile, space)
        self.peers: set[tuple[int, int]] = set()  # (device, peer that its kernels may use)
        # Without a switch: a GPU's links are shared out evenly among the others.
        self.peer_bytes_per_s = model.peer_bytes_per_s / max(1, len(space.used) - 1)
        self.watch = HostWriteWatch(space)
        self.last_of_setup = 0  # the number of setup()'s last operation
        self.restart()

    def restart(self, arrays: Sequence[HostArray] = ()) -> None:
        """A run begins: drop the results of the last one. The outputs among ``arrays`` are watched for host writes."""
        self.launches, self.findings, self.tally = Launches(), Findings(), Tally()
        self.tally.most("device_bytes", sum(self.space.used))
        self.managed.restart()
        self.staged = Staged()
        for region in self.space.pinned() if arrays else ():
            self.staged.watch(region)
        self.l2, self.outputs = Persistence(), Outputs(self.space, arrays)
        self.page_faults: list[tuple[StreamOperation, PageFault]] = []

    def execute(self, op: StreamOperation) -> None:
        """Execute an operation. After a kernel's fault, nothing is executed any more."""
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
        """Record what an operation wrote, so that it does not count as written by the host."""
        written = footprint.changed
        self.managed.remember(written)
        self.watch.wrote(written)
        self.outputs.read(footprint.reads)
        self.outputs.wrote(written)
        self.staged.wrote(written)
        address = changed_under(changed, footprint) if len(changed) else None
        if address is not None:
            of_setup = op.number <= self.last_of_setup
            self.findings.add(host_findings.host_conflict(self.records, op, address, of_setup=of_setup))

    # -- copies and fills -------------------------------------------------------------------------------------------
    def _copy(self, op: StreamOperation, work: Copy) -> None:
        reads = span(work.source, work.size) if isinstance(work.source, int) else NONE
        writes = span(work.target, work.size) if isinstance(work.target, int) else NONE
        op.footprint = Footprint(reads, writes)
        op.size = work.size
        moves = not self._is_freed(op, op.footprint) and not self._is_unpinned(op, work)
        if moves and op.job.kind == "peer":
            self._count_between(op, work)
        op.duration_s = self._copy_time(op, work)
        if moves:
            self._move(work)
            self._find_unwritten(op, work)

    def _count_between(self, op: StreamOperation, work: Copy) -> None:
        """Count a copy between two GPUs; where neither may access the other's memory, it goes through the host's."""
        regions = (self.space.at(end) for end in (work.source, work.target) if isinstance(end, int))
        source, target = (region.device for region in regions if region is not None)
        if not self.peers.isdisjoint({(source, target), (target, source)}):
            op.peer = source if target == op.job.device else target
            self.tally.crossed(source, target, work.size)

    def _move(self, work: Copy) -> None:
        data = work.source if isinstance(work.source, bytes) else self.space.view(work.source, work.size).tobytes()
        if isinstance(work.target, int):
            self.space.view(work.target, work.size)[:] = memoryview(data)
            self._written(work.target, work.size, work.source)
            if isinstance(work.source, bytes):
                self.outputs.took(np.frombuffer(data, np.uint8))
        else:
            work.target[:] = data
            self.outputs.gave(np.frombuffer(data, np.uint8))

    def _find_unwritten(self, op: StreamOperation, work: Copy) -> None:
        """A finding if a copy brings the host only memory that was never written after its allocation."""
        source = work.source
        if op.job.kind != "to_host" or not isinstance(source, int) or not self._is_watched(source):
            return
        if self.gpu.is_unwritten(source, work.size):
            self.findings.add(host_findings.unwritten_copy(self.records, op, source, work.size))

    def _written(self, start: int, size: int, source: int | bytes = b"") -> None:
        """Mark memory as written; but what a copy takes from unwritten memory stays unwritten."""
        if self._is_watched(start):
            if isinstance(source, int) and self._is_watched(source):
                self.gpu.copied(start, source, size)
            else:
                self.gpu.written(start, size)

    def _is_watched(self, address: int) -> bool:
        """Whether all writes to this memory are known."""
        region = self.space.at(address)
        return region is not None and region.kind in ("device", "managed")

    def _is_freed(self, op: StreamOperation, footprint: Footprint) -> bool:
        """Whether a copy or a fill uses freed memory: then it moves nothing."""
        starts = [*footprint.reads[:, 0].tolist(), *footprint.writes[:, 0].tolist()]
        gone = [start for start in starts if self.space.freed(start) is not None]
        for start in gone:
            self.findings.add(host_findings.use_after_free(self.records, op, start))
        return bool(gone)

    def _is_unpinned(self, op: StreamOperation, work: Copy) -> bool:
        """Whether memory of a copy was pinned when it was queued, and is not any more: then it moves nothing."""
        ends = [end for end in (work.source, work.target) if isinstance(end, int) and not work.pageable]
        gone = [end for end in ends if self.space.unpinned(end) is not None]
        for end in gone:
            self.findings.add(host_findings.unpinned(self.records, op, end))
        return bool(gone)

    def _copy_time(self, op: StreamOperation, work: Copy) -> float:
        model, kind = self.model, op.job.kind
        rate = {"on_device": model.bandwidth / 2, "on_host": model.pageable_bytes_per_s}
        if op.peer is not None:
            rate[kind] = self.peer_bytes_per_s
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
        result = self.gpu.launch(work, self._hidden(device), self.region_name, len(self.launches.calls))
        self._keep(result)
        self._explain(op, result)
        op.footprint = result.footprint
        if work.policy is not None:
            self.tally.most("persisting_bytes", self._persisting(work.name, work.policy, result.footprint))
        op.duration_s = self._kernel_time(op, work, result, self._traffic(op, result))

    def _persisting(self, kernel: str, policy: Policy, footprint: Footprint) -> int:
        """Bytes of the kernel's access-policy window that can stay in the L2 cache."""
        base = policy.window.base
        region, name = self.space.at(base), self.space.name(base)
        return self.l2.launched(policy, kept(policy, kernel, footprint.reads, region, name))

    def _hidden(self, device: int) -> Callable[[MemoryRegion], bool]:
        """A predicate for the regions that kernels of a device cannot access: memory of devices that are not peers."""
        return lambda r: r.kind == "device" and r.device != device and (device, r.device) not in self.peers

    def region_name(self, region: MemoryRegion) -> str:
        """The region's name in findings of kernels: the array's name, for its copy on the device, too."""
        return self.space.copied_name(region.start) or f"({self.space.name(region.start)})"

    def parameter(self, op: StreamOperation, region: MemoryRegion) -> str:
        """The name of the kernel's parameter that points into a region; "" if it is not known."""
        work = op.job.work
        if not isinstance(work, KernelLaunch):
            return ""
        addresses = (int.from_bytes(argument, "little") for argument in work.arguments)
        names = zip(addresses, self.gpu.parameters(work.name), strict=False)
        return next((name for address, name in names if region.start <= address < region.end), "")

    def written_name(self, op: StreamOperation, address: int) -> str:
        """The name of the memory at an address that a kernel writes, by its parameter if that is known."""
        region = self.space.at(address)
        parameter = self.parameter(op, region) if region is not None else ""
        return f"`{parameter}`" if parameter else self.space.name(address)

    def _keep(self, result: LaunchResult) -> None:
        launches = self.launches
        if result.call is not None and result.counters is not None:
            launches.calls.append(result.call)
            launches.counters.append(result.counters)
            launches.worst.append(result.worst)
        launches.unordered |= dict.fromkeys(result.unordered)
        self._print(result)
        if not result.complete:
            kind = next((e.kind for e in result.events if e.kind in FAULTS), "")
            launches.fault = FAULTS.get(kind, "cudaErrorLaunchTimeout")

    def _print(self, result: LaunchResult) -> None:
        launches, limit = self.launches, self.gpu.options.printf_bytes
        launches.printed += result.printed
        if len(launches.printed) > limit:
            launches.printed = launches.printed[:limit]
            if result.call is not None and not any(event.kind == "print_limit" for event in launches.events):
                launches.events.append(Event("print_limit", result.call.kernel, None, (0, 0, 0), (0, 0, 0)))

    def _explain(self, op: StreamOperation, result: LaunchResult) -> None:
        """Keep the kernel's events; a stray access that the host file caused becomes a finding of the host file."""
        for event in result.events:
            if not (event.kind in STRAY and event.address is not None and self._is_of_host(op, event.address)):
                self.launches.events.append(self._launched(op, event))

    def _launched(self, op: StreamOperation, event: Event) -> Event:
        """Add the launch to a kernel's event, because the arguments may be at fault."""
        name = op.job.name
        parameters = parameters_of(self.gpu.elements(name), self.gpu.parameters(name))
        place = location(self.records.place(op)) or self.records.file
        return replace(event, launch=launched(self.space, op, parameters, place), launched_at=place)

    def _is_of_host(self, op: StreamOperation, address: int) -> bool:
        """Whether a stray access is the host file's mistake; its finding is recorded then."""
        region = self.space.at(address)
        if self.space.freed(address) is not None:
            finding = host_findings.use_after_free(self.records, op, address)
        elif region is not None and self._hidden(op.job.device)(region):
            finding = host_findings.out_of_reach(self.records, op, address, region.device)
        elif self.space.is_unpinned(address):
            finding = host_findings.out_of_reach(self.records, op, address)
        else:
            return False
        self.findings.add(finding)
        return True

    def _traffic(self, op: StreamOperation, result: LaunchResult) -> Traffic:
        """The bytes that a kernel moved between memories; they are added to the counters, too."""
        device = op.job.device
        faults, in_place = self.managed.touch(result.footprint, device)
        self.page_faults += [(op, fault) for fault in faults]
        pinned = sum(u.sectors for u in result.used if u.region.kind == "pinned")
        peers = [u for u in result.used if u.region.kind == "device" and u.region.device != device]
        touched = result.footprint.touched
        local = [u.region for u in result.used if u.region.kind != "pinned" and u.region.device == device]
        moved = Traffic(
            sum(total(clip(touched, region.start, region.end)) for region in local),
            pinned * SECTOR_BYTES + in_place, SECTOR_BYTES * sum(u.sectors for u in peers), sum(f.size for f in faults),
        )  # fmt: skip
        self.tally.add("mapped_bytes", moved.mapped)
        for use in peers:
            self._peer_access(op, use, result.footprint)
        self.tally.add("faulted_bytes", moved.faulted)
        return moved

    def _peer_access(self, op: StreamOperation, use: RegionUse, footprint: Footprint) -> None:
        """Count what a kernel reads from another GPU's memory, and what it writes there."""
        here, there, size = op.job.device, use.region.device, use.sectors * SECTOR_BYTES
        read, wrote = (
            total(clip(spans, use.region.start, use.region.end)) for spans in (footprint.reads, footprint.changed)
        )
        sent = size * wrote // max(1, read + wrote)
        op.peer = there
        self.tally.crossed(here, there, sent)
        self.tally.crossed(there, here, size - sent)

    def _kernel_time(self, op: StreamOperation, work: KernelLaunch, result: LaunchResult, moved: Traffic) -> float:
        """Modelled seconds of a kernel: the longest of its transfers and its computation."""
        model = self.model
        counted = result.counters.total if result.counters is not None else {}
        blocks = work.grid[0] * work.grid[1] * work.grid[2] * model.scale
        busy = min(model.multiprocessors, max(1.0, blocks))
        longest = max(
            moved.local / model.bandwidth, SECTOR_BYTES * counted.get("sectors", 0.0) / model.l2_bandwidth,
            moved.mapped / model.link_bytes_per_s, moved.peer / self.peer_bytes_per_s,
            moved.faulted / model.fault_bytes_per_s,
            counted.get("instructions", 0.0) / (busy * model.warp_instructions_per_s),
        )  # fmt: skip
        return (model.graph_node_s if op.in_graph else model.launch_s) + longest * model.scale
