"""Streams, events and graphs: the predecessors of each operation.

An operation comes after the earlier ones of its stream. The legacy default stream and the blocking streams of its
device wait for each other at every operation; a stream made with ``non_blocking`` waits for events only. An event is a
place in a stream: recording it again moves it, but earlier waits still refer to the old place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import count
from typing import TypeVar

from grader.frozen import dataclass
from grader.standin.device.operations import AwaitedEvent, Chains, StreamOperation, StreamTask
from grader.standin.device.persisting import Window
from grader.standin.protocol import CudaRefusal

FIRST_HANDLE = 16
"""The first handle of a created object: smaller ones are default streams."""

INVALID = "cudaErrorInvalidResourceHandle"
RELAXED = 2
"""cudaStreamCaptureModeRelaxed."""


@dataclass(eq=False)
class DeviceStream:
    number: int  # in the host file's order of creation; 0 is a default stream
    device: int
    blocking: bool
    chain: int
    is_default: bool = False
    tail: StreamOperation | None = None
    capture: Capture | None = None
    window: Window | None = None  # the access-policy window; of 0 bytes after it was removed


@dataclass(eq=False)
class DeviceEvent:
    device: int
    timing: bool
    mark: StreamOperation | None = None
    line: int = 0  # the line that recorded it last
    captured: tuple[Capture, tuple[int, ...]] | None = None


Resource = TypeVar("Resource")


class Handles(dict[int, Resource]):
    """Resources of one kind by their handles. ``numbers`` gives the next handle, for all kinds.

    Looking up an unknown handle raises CudaRefusal.
    """

    def __init__(self, kind: str, numbers: Iterator[int]) -> None:
        super().__init__()
        self._kind, self._numbers = kind, numbers

    def add(self, resource: Resource) -> int:
        """Add a resource; returns its handle."""
        handle = next(self._numbers)
        self[handle] = resource
        return handle

    def __missing__(self, handle: int) -> Resource:
        raise CudaRefusal(INVALID, f"there is no {self._kind} {handle}, or it was destroyed")

    def destroy(self, handle: int) -> None:
        """Remove the handle; queued operations are still executed. Raises CudaRefusal if there is none."""
        _ = self[handle]
        del self[handle]


class Streams:
    """All streams and events. ``queued`` has the operations in the order of issue, until `forget_done`."""

    def __init__(self, devices: int) -> None:
        self.chains = Chains()
        self.queued: list[StreamOperation] = []
        numbers = count(FIRST_HANDLE)
        self.events: Handles[DeviceEvent] = Handles("event", numbers)
        self.graphs: Handles[CapturedGraph] = Handles("graph", numbers)
        self._handles: Handles[DeviceStream] = Handles("stream", numbers)
        self._all: list[DeviceStream] = []
        self._before_setups: int | None = None  # number of streams made before the first `setup`
        self._before_this_setup = 0  # and before the last `setup`
        self._defaults = [self._new(d, 0, blocking=True, is_default=True) for d in range(devices)]
        for device, stream in enumerate(self._defaults):
            self._handles[-device] = stream

    # -- streams ----------------------------------------------------------------------------------------------------
    def _new(self, device: int, number: int, *, blocking: bool, is_default: bool = False) -> DeviceStream:
        stream = DeviceStream(number, device, blocking, self.chains.chain(), is_default)
        self._all.append(stream)
        return stream

    def create(self, device: int, *, blocking: bool) -> int:
        """Make a stream; returns its handle."""
        number = (self._before_setups or 0) + self._created() - self._before_this_setup + 1
        return self._handles.add(self._new(device, number, blocking=blocking))

    def _created(self) -> int:
        return sum(not stream.is_default for stream in self._all)

    def renumber(self) -> None:
        """Restart the numbers of new streams, after those of the streams from before the first `setup`."""
        self._before_this_setup = self._created()
        if self._before_setups is None:
            self._before_setups = self._before_this_setup

    def stream(self, handle: int) -> DeviceStream:
        """The stream of a handle. Raises CudaRefusal if there is none."""
        return self._handles[handle]

    def destroy(self, handle: int) -> None:
        """Remove the handle; queued operations are still executed. Raises CudaRefusal for a default stream."""
        if handle < FIRST_HANDLE:
            raise CudaRefusal(INVALID, "a default stream cannot be destroyed")
        self._handles.destroy(handle)

    def windows(self) -> list[tuple[DeviceStream, Window]]:
        """Streams whose access-policy window was set, even to 0 bytes; in the order of creation."""
        return [(stream, stream.window) for stream in self._all if stream.window is not None]

    def of_device(self, device: int) -> list[DeviceStream]:
        """All streams of a device, including destroyed ones."""
        return [stream for stream in self._all if stream.device == device]

    def blocking_chains(self) -> frozenset[int]:
        """The chains of blocking streams: they wait for the default stream, and it waits for them."""
        return frozenset(stream.chain for stream in self._all if stream.blocking)

    # -- operations -------------------------------------------------------------------------------------------------
    def issue(self, task: StreamTask | None, stream: DeviceStream) -> StreamOperation | None:
        """Queue a task or a mark; returns None if the stream is being captured: the task is then in the graph."""
        if stream.capture is not None:
            if task is not None:
                stream.capture.add(stream, task)
            return None
        self._refuse_implicit(stream)
        op = self.chains.place(task, stream.chain, self._before(stream), stream.number)
        return self._queue(op, stream)

    def _queue(self, op: StreamOperation, stream: DeviceStream) -> StreamOperation:
        stream.tail = op
        self.queued.append(op)
        return op

    def _refuse_implicit(self, stream: DeviceStream) -> None:
        """Raises CudaRefusal if an operation of the default stream would wait for a stream that is being captured."""
        for other in self._all:
            if stream.is_default and other.capture is not None and other.blocking and other.device == stream.device:
                raise other.capture.break_off(
                    "cudaErrorStreamCaptureImplicit",
                    f"the default stream waits for stream {other.number}, which is being captured: queue this "
                    "operation on the captured stream, too (inside `with stream:`, or with stream.ptr)",
                )

    def _before(self, stream: DeviceStream) -> Iterator[StreamOperation]:
        if stream.tail is not None:
            yield stream.tail
        if not stream.blocking:
            return
        others = self.of_device(stream.device) if stream.is_default else [self._defaults[stream.device]]
        for other in others:
            if other is not stream and other.blocking and other.tail is not None:
                yield other.tail

    def tails(self, device: int) -> list[StreamOperation]:
        """The last operations of all streams of a device."""
        return [s.tail for s in self.of_device(device) if s.tail is not None]

    def forget_done(self) -> None:
        """Drop executed operations from the queue."""
        self.queued = [op for op in self.queued if not op.done]

    def forget_history(self) -> None:
        """All operations are executed: release the predecessors of the last ones."""
        self.forget_done()
        marks = [event.mark for event in self.events.values()]
        for op in (*(stream.tail for stream in self._all), *marks, *(graph.last for graph in self.graphs.values())):
            if op is not None:
                op.before = ()

    # -- events -----------------------------------------------------------------------------------------------------
    def record(self, event: DeviceEvent, stream: DeviceStream, line: int = 0) -> StreamOperation | None:
        """Record the event at this place of the stream, as a mark; returns None in a capture.

        Raises CudaRefusal for a stream of another device.
        """
        if event.device != stream.device:
            raise CudaRefusal(
                INVALID,
                f"the event is of device {event.device}, and the stream of device {stream.device}: make the event "
                f"while device {stream.device} is current (`with cupy.cuda.Device({stream.device}):`)",
            )
        event.line = line
        if stream.capture is not None:
            event.captured, event.mark = (stream.capture, stream.capture.ends[stream]), None
        else:
            event.captured, event.mark = None, self.issue(None, stream)
        return event.mark

    def wait(self, stream: DeviceStream, event: DeviceEvent, line: int = 0) -> StreamOperation | None:
        """Let later operations of the stream wait for the event: queues a mark, or returns None if there is no need.

        Raises CudaRefusal if a capture does not allow the wait.
        """
        if event.captured is not None:
            self._join(stream, *event.captured)
        elif event.mark is not None:
            if stream.capture is not None:
                raise stream.capture.break_off(
                    "cudaErrorStreamCaptureIsolation",
                    f"stream {stream.number} is being captured, and the event was recorded outside the capture: "
                    "a graph cannot wait for operations that are not part of it",
                )
            self._refuse_implicit(stream)
            before = (*self._before(stream), event.mark)
            op = self.chains.place(None, stream.chain, before, stream.number)
            mark = event.mark
            op.waits = AwaitedEvent(line, event.line, mark.number, mark.chain, mark.index, mark.stream, event.device)
            return self._queue(op, stream)
        return None

    def _join(self, stream: DeviceStream, capture: Capture, after: tuple[int, ...]) -> None:
        if capture.origin.capture is not capture:
            raise CudaRefusal("cudaErrorCapturedEvent", "the event was recorded in a capture that is over")
        if stream.capture is not None and stream.capture is not capture:
            capture.break_off("", "another capture waited for an event of it")
            raise stream.capture.break_off("cudaErrorStreamCaptureMerge", "the event belongs to another capture")
        if stream.is_default:
            raise capture.break_off(
                "cudaErrorStreamCaptureImplicit", "the default stream cannot take part in a capture"
            )
        stream.capture = capture
        capture.join(stream, after)

    # -- captures ---------------------------------------------------------------------------------------------------
    def capturing(self) -> list[DeviceStream]:
        return [stream for stream in self._all if stream.capture is not None]

    def begin(self, stream: DeviceStream, line: int, mode: int) -> None:
        """Begin a capture: later operations of the stream become a graph; ``line`` called begin_capture.

        Raises CudaRefusal for a default stream, and for one that is being captured already.
        """
        if stream.is_default:
            raise CudaRefusal(
                "cudaErrorStreamCaptureUnsupported", "the default stream cannot be captured: make a stream for it"
            )
        if stream.capture is not None:
            raise CudaRefusal("cudaErrorIllegalState", f"stream {stream.number} is being captured already")
        stream.capture = Capture(stream, line, relaxed=mode == RELAXED)

    def end(self, stream: DeviceStream) -> CapturedGraph:
        """End a capture that began in this stream; returns the graph.

        Raises CudaRefusal if there is no such capture, or no graph can be made of it; then the capture is over, too.
        """
        capture = stream.capture
        if capture is None:
            raise CudaRefusal("cudaErrorIllegalState", f"stream {stream.number} is not being captured")
        if capture.origin is not stream:
            raise CudaRefusal(
                "cudaErrorStreamCaptureUnmatched", f"this capture began in stream {capture.origin.number}: end it there"
            )
        for other in capture.ends:
            other.capture = None
        if capture.broken:
            raise CudaRefusal("cudaErrorStreamCaptureInvalidated", f"the capture was invalidated: {capture.broken}")
        return capture.finish()

    def replay(self, graph: CapturedGraph, stream: DeviceStream) -> list[StreamOperation]:
        """Queue one launch of the graph: a mark after the stream's last operation, the tasks, and a mark at the end."""
        if not graph.chains:
            graph.chains = [self.chains.chain() for _ in range(graph.lanes)]
        self._refuse_implicit(stream)
        before = (*self._before(stream), *(() if graph.last is None else (graph.last,)))
        begin = self._queue(self.chains.place(None, stream.chain, before, stream.number), stream)
        tasks: list[StreamOperation] = []
        for node in graph.nodes:
            after = [tasks[i] for i in node.after] or [begin]
            number = node.stream if node.lane else stream.number
            tasks.append(self.chains.place(node.task, graph.chains[node.lane], after, number, in_graph=True))
        self.queued += tasks
        ends = [tasks[i] for i in graph.leaves]
        graph.last = self._queue(self.chains.place(None, stream.chain, (begin, *ends), stream.number), stream)
        return [begin, *tasks, graph.last]


MOST_NODES = 100_000


@dataclass(frozen=True, eq=False)
class Node:
    """One task of a graph. ``lane`` is the index of its captured stream; the capture began in stream 0."""

    task: StreamTask
    after: tuple[int, ...]  # indices of its predecessors
    lane: int
    stream: int  # the stream's number, in the host file's order of creation


@dataclass(eq=False)
class CapturedGraph:
    """The graph of a capture. Launches of one graph run one after another, as on a GPU."""

    nodes: tuple[Node, ...]
    lanes: int
    line: int = 0  # the line where the capture began
    chains: list[int] = field(default_factory=list)  # one for each lane, from the first launch on
    last: StreamOperation | None = None  # the end of its last launch

    @property
    def leaves(self) -> list[int]:
        """The indices of nodes without successors."""
        inner = {i for node in self.nodes for i in node.after}
        return [i for i in range(len(self.nodes)) if i not in inner]


class Capture:
    """Streams that are being captured together, from `begin` on ``origin`` to `finish`."""

    def __init__(self, origin: DeviceStream, line: int, *, relaxed: bool) -> None:
        self.origin = origin
        self.line = line  # the line where it began
        self.relaxed = relaxed  # whether memory may be allocated meanwhile
        self.nodes: list[Node] = []
        self.ends: dict[DeviceStream, tuple[int, ...]] = {origin: ()}
        self.broken = ""  # why it was invalidated; "" while it is valid

    def add(self, stream: DeviceStream, task: StreamTask) -> None:
        """Add a task of one of the captured streams. Raises CudaRefusal above MOST_NODES."""
        if len(self.nodes) >= MOST_NODES:
            raise CudaRefusal("cudaErrorMemoryAllocation", f"a graph of more than {MOST_NODES} operations")
        lane = list(self.ends).index(stream)
        self.nodes.append(Node(task, self.ends[stream], lane, stream.number))
        self.ends[stream] = (len(self.nodes) - 1,)

    def break_off(self, name: str, message: str) -> CudaRefusal:
        """Invalidate the capture; returns the error to raise."""
        self.broken = self.broken or message
        return CudaRefusal(name, message)

    @property
    def begun(self) -> str:
        """``begin_capture on line 14 was not ended yet``."""
        return f"begin_capture{f' on line {self.line}' if self.line else ''} was not ended yet"

    def join(self, stream: DeviceStream, after: Iterable[int]) -> None:
        """Let the stream wait for these nodes; it is captured, too, from now on."""
        self.ends[stream] = tuple(sorted({*self.ends.get(stream, ()), *after}))

    def finish(self) -> CapturedGraph:
        """The graph. Raises CudaRefusal if the origin stream does not wait for the end of another captured stream."""
        awaited = self._before(self.ends[self.origin])
        for stream, ends in self.ends.items():
            unjoined = [i for i in ends if i not in awaited]
            if unjoined:
                raise CudaRefusal("cudaErrorStreamCaptureUnjoined", self._unjoined(stream, unjoined[-1]))
        return CapturedGraph(tuple(self.nodes), len(self.ends), self.line)

    def _unjoined(self, stream: DeviceStream, node: int) -> str:
        line = self.nodes[node].task.line
        place = f" (its last operation is on line {line})" if line else ""
        return (
            f"stream {stream.number} is part of the capture{place}, but stream {self.origin.number} does not wait for "
            f"it: record an event on it, and let stream {self.origin.number} wait for the event before the capture ends"
        )

    def _before(self, ends: Iterable[int]) -> set[int]:
        """These nodes and all their predecessors."""
        nodes = set(ends)
        stack = list(nodes)
        while stack:
            for i in self.nodes[stack.pop()].after:
                if i not in nodes:
                    nodes.add(i)
                    stack.append(i)
        return nodes
