"""Modelled time: the figures of the modelled GPU, when each operation begins and ends, and how well engines overlapped.

It is for the timeline, and for the counters `modelled_overlap` and `modelled_peer_overlap`; `fast` is never graded by
it.

Each device has one compute queue, one copy engine for each direction of the link, and one for each of its peers. An
engine executes one operation at a time, in the order in which they became ready. Each call takes time on the host,
which stops while it waits. The duration of an operation is known when it was executed, so times are computed afterwards
from a log.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from grader.frozen import dataclass
from grader.gpus.models import SIMULATED, published
from grader.simt.occupancy import MOST_THREADS, MULTIPROCESSORS, WARP
from grader.standin.device.operations import HOST, Prefetch, StreamOperation
from grader.standin.device.spans import Spans, common, span, total, union, without
from grader.standin.protocol import HOST_BASE
from grader.verdict import Operation as Bar
from grader.verdict import Timeline


@dataclass(frozen=True)
class Model:
    """Rates and latencies of one GPU, its link, and the host.

    ``scale`` is the ratio of the modelled work to the simulated work: the simulator runs a small size, at which
    latencies would hide every overlap. With ``scale`` = timed work ÷ simulated work, each copy takes the time of
    ``scale`` times its bytes, and each kernel that of ``scale`` times its work, so that the bars have the proportions
    of the timed size. Latencies and the host's own time are not scaled, because the number of calls stays the same. (A
    host file with chunks of a fixed size would have more chunks at the timed size, not longer ones.)
    """

    name: str
    multiprocessors: int
    clock_hz: float
    bandwidth: float  # of device memory, bytes per second
    l2_bandwidth: float
    link_bytes_per_s: float  # each way, pinned
    pageable_bytes_per_s: float
    peer_bytes_per_s: float  # of all links to other GPUs
    fault_bytes_per_s: float  # of managed memory that page faults migrate
    link_latency_s: float  # of one copy
    launch_s: float  # time in which the device starts a kernel of a stream
    graph_node_s: float  # the same for a kernel of a graph
    call_s: float  # time of one call on the host, from Python
    wait_s: float  # time in which the host notices that an operation has ended
    memory_bytes: int  # of one device, for `malloc`
    scale: float = 1.0
    attributes: Mapping[str, int] = field(default_factory=dict)

    @property
    def warp_instructions_per_s(self) -> float:
        """Of one multiprocessor: four schedulers, each with one instruction per clock."""
        return 4 * self.clock_hz


SM = MULTIPROCESSORS[SIMULATED.architecture]
PEAKS = published(SIMULATED.name)
assert PEAKS is not None  # the simulated GPU is a row of the table

A100 = Model(
    name="A100 (PCIe 4)",
    multiprocessors=SIMULATED.sm_count,
    clock_hz=1e3 * SIMULATED.clock_khz,
    bandwidth=1e9 * PEAKS.bandwidth,
    l2_bandwidth=1e3 * SIMULATED.clock_khz * SIMULATED.l2_bytes_per_clock,
    # PCIe 4.0 x16 moves 31.5 GB/s of raw data; packet headers leave about four fifths.
    link_bytes_per_s=25e9,
    # For a pageable copy the host first moves every byte to a pinned buffer: one core's memcpy. An assumption.
    pageable_bytes_per_s=6e9,
    # NVLink of the third generation, whitepaper: 12 links of 25 GB/s in each direction; the same four fifths.
    peer_bytes_per_s=240e9,
    # Page faults use only a part of the link's bandwidth. An assumption.
    fault_bytes_per_s=5e9,
    # From here on, typical orders of magnitude.
    link_latency_s=2e-6,
    launch_s=1.5e-6,
    graph_node_s=0.7e-6,
    call_s=4e-6,
    wait_s=5e-6,
    # Small, because the simulator's shadow memory needs four times as much again.
    memory_bytes=512 << 20,
    # CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (8.0); cudaDeviceProp.
    attributes={
        "MultiProcessorCount": SIMULATED.sm_count, "WarpSize": WARP, "MaxThreadsPerBlock": MOST_THREADS,
        "MaxThreadsPerMultiProcessor": WARP * SM.warps, "MaxBlocksPerMultiprocessor": SM.blocks,
        "MaxBlockDimX": 1024, "MaxBlockDimY": 1024, "MaxBlockDimZ": 64,
        "MaxGridDimX": 2**31 - 1, "MaxGridDimY": 65535, "MaxGridDimZ": 65535,
        "MaxSharedMemoryPerBlock": 48 << 10, "MaxSharedMemoryPerBlockOptin": SM.shared_bytes_per_block,
        "MaxSharedMemoryPerMultiprocessor": SM.shared_bytes, "ReservedSharedMemoryPerBlock": SM.reserved_bytes,
        "MaxRegistersPerBlock": SM.registers, "MaxRegistersPerMultiprocessor": SM.registers,
        "TotalConstantMemory": 65536, "L2CacheSize": SIMULATED.l2_bytes,
        "MaxPersistingL2CacheSize": SIMULATED.persisting_l2_bytes, "MaxAccessPolicyWindowSize": 134213632,
        "ClockRate": SIMULATED.clock_khz, "MemoryClockRate": SIMULATED.memory_clock_khz,
        "GlobalMemoryBusWidth": SIMULATED.bus_width_bits, "ComputeCapabilityMajor": SIMULATED.capability[0],
        "ComputeCapabilityMinor": SIMULATED.capability[1], "AsyncEngineCount": 3, "ConcurrentKernels": 1,
        "CooperativeLaunch": 1, "CooperativeMultiDeviceLaunch": 1, "ManagedMemory": 1, "ConcurrentManagedAccess": 1,
        "PageableMemoryAccess": 0, "UnifiedAddressing": 1, "CanMapHostMemory": 1, "HostRegisterSupported": 1,
        "CanUseHostPointerForRegisteredMem": 1, "StreamPrioritiesSupported": 1, "ComputePreemptionSupported": 1,
        "MemoryPoolsSupported": 1, "GlobalL1CacheSupported": 1, "LocalL1CacheSupported": 1, "EccEnabled": 1,
        "Integrated": 0, "MultiGpuBoard": 0, "TccDriver": 0, "KernelExecTimeout": 0, "ComputeMode": 0,
    },
)  # fmt: skip


ENGINES: Mapping[str, str] = {
    "kernel": "compute", "fill": "compute", "on_device": "compute", "to_device": "in", "to_host": "out", "peer": "peer",
    "on_host": "host",
}  # fmt: skip
Engine = tuple[int, str]


@dataclass(frozen=True, eq=False)
class HostCall:
    """One call of the host: its time, and the operations that it queued or waited for."""

    cost_s: float
    issued: tuple[StreamOperation, ...] = ()
    awaited: tuple[StreamOperation, ...] = ()


@dataclass(eq=False)
class Clock:
    """A log of calls, and the times that follow from it. ``host_s`` is the time at which the log begins."""

    model: Model
    host_s: float = 0.0
    log: list[HostCall] = field(default_factory=list)
    _host_end_s: float | None = None  # when the host has made all calls of the log; None until it is computed

    def call(self, *issued: StreamOperation) -> None:
        """Log a call that queued these operations."""
        self.log.append(HostCall(self.model.call_s, issued=issued))
        self.changed()

    def wait(self, awaited: Iterable[StreamOperation]) -> None:
        """Log a call that waited for these operations."""
        self.log.append(HostCall(self.model.wait_s, awaited=tuple(awaited)))
        self.changed()

    def changed(self) -> None:
        """Drop computed times: operations were queued, executed or forgotten."""
        self._host_end_s = None

    def compute(self) -> float:
        """Set the times of every operation in the log; returns when the host has made all calls."""
        if self._host_end_s is None:
            self._host_end_s = _Replay(self.log, self.host_s).run()
        return self._host_end_s

    def restart(self) -> None:
        """Begin a new log at the time when this one ended."""
        self.host_s = self.compute()
        self.log = []
        self.changed()

    def timeline(self) -> Timeline:
        """The log's operations, including those that came too late to count."""
        ended = self.compute()
        bars = sorted((_bar(op, self.host_s) for op in self._issued()), key=lambda bar: (bar.start_s, bar.end_s))
        return Timeline(tuple(bars), ended - self.host_s, True, self._label(), self.model.scale)

    def overlap(self, late: frozenset[StreamOperation]) -> float:
        """How well the engines overlapped, from 0 to 1; ``late`` operations do not count."""
        elapsed_s = self.compute() - self.host_s
        return overlap((op for op in self._issued() if op not in late), elapsed_s, self.model)

    def peer_overlap(self) -> float:
        """The part of the kernels' time in which bytes go between GPUs, from 0 to 1."""
        return peer_overlap(self._issued())

    def host_part(self) -> float:
        """The part of the elapsed time that the host's calls took, without waits."""
        elapsed_s = self.compute() - self.host_s
        return sum(entry.cost_s for entry in self.log if not entry.awaited) / elapsed_s if elapsed_s else 0.0

    def _issued(self) -> Iterator[StreamOperation]:
        """The log's tasks."""
        return (op for entry in self.log for op in entry.issued if op.task is not None)

    def _label(self) -> str:
        scale = self.model.scale
        if scale == 1:
            return self.model.name
        return f"{self.model.name}, with {_times(scale)} times the simulated work in the same number of calls"


def _times(scale: float) -> str:
    return f"{scale:.0f}" if scale >= 10 else f"{scale:.1f}"


def engine(op: StreamOperation) -> Engine | None:
    """The engine that executes an operation; None for a mark."""
    if op.task is None:
        return None
    work = op.task.work
    if isinstance(work, Prefetch):
        return (op.task.device, "out") if work.device == HOST else (work.device, "in")
    peer = "" if op.peer is None or op.task.kind != "peer" else f" {op.peer}"
    return op.task.device, ENGINES[op.task.kind] + peer


def _bar(op: StreamOperation, origin_s: float) -> Bar:
    task = op.job
    start, end = (op.start_s or 0.0) - origin_s, (op.end_s or 0.0) - origin_s
    return Bar(
        task.kind, task.name, op.stream, start, end, op.size, task.line or None, task.device,
        op.occurrence,
    )  # fmt: skip


class _Replay:
    """One pass over a log. An operation whose end is not known counts as ended."""

    def __init__(self, log: Sequence[HostCall], host_s: float) -> None:
        self.log, self.now = log, host_s
        self.free: dict[Engine, float] = defaultdict(lambda: host_s)
        self.queues: dict[int, deque[StreamOperation]] = defaultdict(deque)  # by chain, operations not yet started
        self.issued_s: dict[StreamOperation, float] = {}
        self.waiting: set[StreamOperation] = set()  # issued, not started
        self.ready: dict[
            StreamOperation, tuple[float, Engine | None]
        ] = {}  # first in their chains: since when, and where
        for op in (op for entry in log for op in entry.issued):
            op.start_s = op.end_s = None

    def run(self) -> float:
        for entry in self.log:
            self.now += entry.cost_s
            for op in entry.issued:
                self.issued_s[op] = self.now
                self.waiting.add(op)
                self.queues[op.chain].append(op)
            if entry.awaited:
                self._until(entry.awaited)
        host_end_s = self.now
        self._until([op for queue in self.queues.values() for op in queue])
        return host_end_s

    def _until(self, awaited: Sequence[StreamOperation]) -> None:
        """Run the engines until these operations have ended; the host waits for them."""
        left = self.waiting.intersection(awaited)
        while left:
            op, start = self._next()
            self._begin(op, start)
            left.discard(op)
        self.now = max([self.now, *(op.end_s for op in awaited if op.end_s is not None)])

    def _next(self) -> tuple[StreamOperation, float]:
        """The operation that starts next, and when: of the first ones in their chains, the one that can start first."""
        for queue in self.queues.values():
            if queue and queue[0] not in self.ready and self.waiting.isdisjoint(queue[0].before):
                op = queue[0]
                self.ready[op] = (
                    max([self.issued_s[op], *(b.end_s for b in op.before if b.end_s is not None)]),
                    engine(op),
                )
        first = min(self.ready, key=self._start)
        return first, self._start(first)[0]

    def _start(self, op: StreamOperation) -> tuple[float, float, int]:
        """A sort key: when the operation can start, when it became ready, and its number."""
        ready, its_engine = self.ready[op]
        return max(ready, self.free[its_engine]) if its_engine else ready, ready, op.number

    def _begin(self, op: StreamOperation, start: float) -> None:
        self.queues[op.chain].popleft()
        self.waiting.discard(op)
        op.start_s, op.end_s = start, start + (op.duration_s or 0.0)
        _, its_engine = self.ready.pop(op)
        if its_engine is not None:
            self.free[its_engine] = op.end_s


COUNTED = ("kernel", "to_device", "to_host")
"""Kinds of operation that count; each has its own engine. Fills, prefetches and other copies do not count."""

HOST_MEMORY = span(HOST_BASE, 1 << 40)
"""The addresses of all memory that the host can access."""


def overlap(operations: Iterable[StreamOperation], elapsed_s: float, model: Model) -> float:
    """The part of the elapsed time in which the busiest engine does useful work; 0 if there was none."""
    work_s: dict[tuple[int, str], float] = defaultdict(float)
    for op in _useful(operations):
        if op.job.kind in COUNTED:
            work_s[op.job.device, op.job.kind] += _work_s(op, model)
    return max(work_s.values(), default=0.0) / elapsed_s if elapsed_s else 0.0


def peer_overlap(operations: Iterable[StreamOperation]) -> float:
    """The part of the kernels' time with a copy between GPUs in progress on the same device; 0 without kernels.

    A kernel that accesses another GPU's memory itself counts as one with such a copy.
    """
    kernels: dict[int, list[Spans]] = defaultdict(list)
    crossing: dict[int, list[Spans]] = defaultdict(list)
    for op in operations:
        start, end = (round((at or 0.0) * 1e12) for at in (op.start_s, op.end_s))
        if op.job.kind == "kernel":
            kernels[op.job.device].append(span(start, end - start))
        if op.peer is not None:
            crossing[op.job.device].append(span(start, end - start))
    busy = {device: union(spans) for device, spans in kernels.items()}
    alone = sum(total(without(spans, union(crossing[device]))) for device, spans in busy.items())
    return 1 - alone / max(1, sum(map(total, busy.values()))) if busy else 0.0


def _work_s(op: StreamOperation, model: Model) -> float:
    """Duration without latency: otherwise the same work in more pieces would count as more work."""
    kernel_s = model.graph_node_s if op.in_graph else model.launch_s
    latency_s = kernel_s if op.job.kind == "kernel" else model.link_latency_s
    return max(0.0, (op.duration_s or 0.0) - latency_s)


def _useful(operations: Iterable[StreamOperation]) -> Iterator[StreamOperation]:
    """Yield, last first, operations that write host memory, or memory that a later one of these reads."""
    needed = HOST_MEMORY
    for op in sorted(operations, key=lambda op: -op.number):
        footprint = op.footprint
        if footprint is not None and (op.job.kind == "to_host" or common(footprint.changed, needed) is not None):
            read = (spans for spans in (footprint.reads, footprint.atomics) if len(spans) and spans[0, 0] < HOST_BASE)
            needed = union((needed, *read))
            yield op
