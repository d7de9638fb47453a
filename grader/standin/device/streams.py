"""Streams, events and graphs: what each operation comes after.

An operation comes after what its stream holds. The legacy default stream and the blocking streams of its device wait
for each other at every operation; a stream made with ``non_blocking`` waits for its events only. An event is a place
in a stream: recording it again moves it, and who waited before still waits for the old place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from grader.standin.device.operations import AwaitedEvent, Chains, StreamOperation, StreamTask
from grader.standin.device.persisting import Window
from grader.standin.protocol import CudaRefusal

FIRST_HANDLE = 16
"""Of what is created: what is below is a default stream."""

INVALID = "cudaErrorInvalidResourceHandle"
RELAXED = 2
"""cudaStreamCaptureModeRelaxed."""


@dataclass(eq=False)
class DeviceStream:
    number: int  # as the host file made them; 0 is a default stream
    device: int
    blocking: bool
    chain: int
    is_default: bool = False
    tail: StreamOperation | None = None
    capture: Capture | None = None
    window: Window | None = None  # the access policy; of 0 bytes where it was taken away


@dataclass(eq=False)
class DeviceEvent:
    device: int
    timing: bool
    mark: StreamOperation | None = None
    line: int = 0  # the line that recorded it last
    captured: tuple[Capture, tuple[int, ...]] | None = None


Thing = TypeVar("Thing")


class Handles(dict[int, Thing]):
    """Things of one kind by their handles. ``numbers`` gives the next handle, of any kind.

    What is not there raises CudaRefusal.
    """

    def __init__(self, kind: str, numbers: Iterator[int]) -> None:
        super().__init__()
        self._kind, self._numbers = kind, numbers

    def add(self, thing: Thing) -> int:
        """Its new handle."""
        handle = next(self._numbers)
        self[handle] = thing
        return handle

    def __missing__(self, handle: int) -> Thing:
        raise CudaRefusal(INVALID, f"there is no {self._kind} {handle}, or it was destroyed")

    def destroy(self, handle: int) -> None:
        """The handle is gone; what is queued is still done."""
        _ = self[handle]
        del self[handle]


class Streams:
    """All streams and events. ``queued`` holds what was issued, in that order, until `forget_done`."""

    def __init__(self, devices: int) -> None:
        self.chains = Chains()
        self.queued: list[StreamOperation] = []
        numbers = count(FIRST_HANDLE)
        self.events: Handles[DeviceEvent] = Handles("event", numbers)
        self.graphs: Handles[CapturedGraph] = Handles("graph", numbers)
        self._handles: Handles[DeviceStream] = Handles("stream", numbers)
        self._all: list[DeviceStream] = []
        self._first: int | None = None  # how many streams there were before the first `setup`
        self._old = 0  # and before the last one
        self._defaults = [self._new(d, 0, blocking=True, is_default=True) for d in range(devices)]
        for device, stream in enumerate(self._defaults):
            self._handles[-device] = stream

    # -- streams ----------------------------------------------------------------------------------------------------
    def _new(self, device: int, number: int, *, blocking: bool, is_default: bool = False) -> DeviceStream:
        stream = DeviceStream(number, device, blocking, self.chains.chain(), is_default)
        self._all.append(stream)
        return stream

    def create(self, device: int, *, blocking: bool) -> int:
        """A new stream's handle."""
        number = (self._first or 0) + self._made() - self._old + 1
        return self._handles.add(self._new(device, number, blocking=blocking))

    def _made(self) -> int:
        return sum(not stream.is_default for stream in self._all)

    def renumber(self) -> None:
        """Number streams that are made from now on from 1 again, behind those that were there before any `setup`."""
        self._old = self._made()
        self._first = self._old if self._first is None else self._first

    def stream(self, handle: int) -> DeviceStream:
        """The stream of a handle. Raises CudaRefusal."""
        return self._handles[handle]

    def destroy(self, handle: int) -> None:
        """The handle is gone; what is queued is still done."""
        if handle < FIRST_HANDLE:
            raise CudaRefusal(INVALID, "a default stream cannot be destroyed")
        self._handles.destroy(handle)

    def windows(self) -> list[tuple[DeviceStream, Window]]:
        """Streams that were given an access-policy window, also one of 0 bytes; those made last come last."""
        return [(stream, stream.window) for stream in self._all if stream.window is not None]

    def of_device(self, device: int) -> list[DeviceStream]:
        """All of its streams, destroyed ones included."""
        return [stream for stream in self._all if stream.device == device]

    def blocking_chains(self) -> frozenset[int]:
        """The chains of the streams that wait for the default stream, and it for them."""
        return frozenset(stream.chain for stream in self._all if stream.blocking)

    # -- operations -------------------------------------------------------------------------------------------------
    def issue(self, task: StreamTask | None, stream: DeviceStream) -> StreamOperation | None:
        """Queue a task, or a mark; None where the stream is captured, and the task went into the graph."""
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
        """An operation of the default stream would wait for a stream that is being captured."""
        for other in self._all:
            if stream.is_default and other.capture is not None and other.blocking and other.device == stream.device:
                raise other.capture.break_off(
                    "cudaErrorStreamCaptureImplicit",
                    f"the default stream waits for stream {other.number}, which is being captured: put this operation "
                    "on the captured stream, too (inside `with stream:`, or with stream.ptr)",
                )

    def _before(self, stream: DeviceStream) -> Iterator[StreamOperation]:
        if stream.tail is not None:
            yield stream.tail
        if not stream.blocking:
            return
        there = self.of_device(stream.device) if stream.is_default else [self._defaults[stream.device]]
        for other in there:
            if other is not stream and other.blocking and other.tail is not None:
                yield other.tail

    def tails(self, device: int) -> list[StreamOperation]:
        """The last operations of all streams of a device."""
        return [s.tail for s in self.of_device(device) if s.tail is not None]

    def forget_done(self) -> None:
        """Drop what is done from the queue."""
        self.queued = [op for op in self.queued if not op.done]

    def forget_history(self) -> None:
        """Everything is done: the last operations need not hold on to those before them."""
        self.forget_done()
        marks = [event.mark for event in self.events.values()]
        for op in (*(stream.tail for stream in self._all), *marks, *(graph.last for graph in self.graphs.values())):
            if op is not None:
                op.before = ()

    # -- events -----------------------------------------------------------------------------------------------------
    def record(self, event: DeviceEvent, stream: DeviceStream, line: int = 0) -> StreamOperation | None:
        """The event is now this place in the stream, a mark. Raises CudaRefusal where that is another device's."""
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
        """What comes next in the stream waits for the event's place, of now: a mark, where there is such a place."""
        if event.captured is not None:
            self._join(stream, *event.captured)
        elif event.mark is not None:
            if stream.capture is not None:
                raise stream.capture.break_off(
                    "cudaErrorStreamCaptureIsolation",
                    f"stream {stream.number} is being captured, and the event was recorded outside of the capture: "
                    "a graph cannot wait for what is not in it",
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
        """What is put into the stream from now on makes a graph; ``line`` is the line that says so."""
        if stream.is_default:
            raise CudaRefusal(
                "cudaErrorStreamCaptureUnsupported", "the default stream cannot be captured: make a stream for it"
            )
        if stream.capture is not None:
            raise CudaRefusal("cudaErrorIllegalState", f"stream {stream.number} is being captured already")
        stream.capture = Capture(stream, line, relaxed=mode == RELAXED)

    def end(self, stream: DeviceStream) -> CapturedGraph:
        """The graph of a capture that began in this stream. Raises CudaRefusal; the capture is over then, too."""
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
            raise CudaRefusal("cudaErrorStreamCaptureInvalidated", f"the capture was broken off: {capture.broken}")
        return capture.finish()

    def replay(self, graph: CapturedGraph, stream: DeviceStream) -> list[StreamOperation]:
        """One launch of the graph: a mark behind what the stream holds, its tasks, and a mark behind all of them."""
        if not graph.chains:
            graph.chains = [self.chains.chain() for _ in range(graph.lanes)]
        self._refuse_implicit(stream)
        before = (*self._before(stream), *(() if graph.last is None else (graph.last,)))
        begin = self._queue(self.chains.place(None, stream.chain, before, stream.number), stream)
        made: list[StreamOperation] = []
        for node in graph.nodes:
            after = [made[i] for i in node.after] or [begin]
            number = node.stream if node.lane else stream.number
            made.append(self.chains.place(node.task, graph.chains[node.lane], after, number, in_graph=True))
        self.queued += made
        ends = [made[i] for i in graph.leaves]
        graph.last = self._queue(self.chains.place(None, stream.chain, (begin, *ends), stream.number), stream)
        return [begin, *made, graph.last]


MOST_NODES = 100_000


@dataclass(frozen=True, eq=False)
class Node:
    """One task; ``after`` are nodes. ``lane`` is the captured stream, 0 the one where the capture began."""

    task: StreamTask
    after: tuple[int, ...]
    lane: int
    stream: int  # that stream, as the host file counts them


@dataclass(eq=False)
class CapturedGraph:
    """What a capture gave. Launches of one graph come one after another, as on a GPU."""

    nodes: tuple[Node, ...]
    lanes: int
    line: int = 0  # the line where the capture began
    chains: list[int] = field(default_factory=list)  # one for each lane, from the first launch on
    last: StreamOperation | None = None  # the end of its last launch

    @property
    def leaves(self) -> list[int]:
        """Nodes that nothing comes after."""
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
        self.broken = ""  # why it cannot become a graph any more

    def add(self, stream: DeviceStream, task: StreamTask) -> None:
        """A task in one of its streams."""
        if len(self.nodes) >= MOST_NODES:
            raise CudaRefusal("cudaErrorMemoryAllocation", f"a graph of more than {MOST_NODES} operations")
        lane = list(self.ends).index(stream)
        self.nodes.append(Node(task, self.ends[stream], lane, stream.number))
        self.ends[stream] = (len(self.nodes) - 1,)

    def break_off(self, name: str, message: str) -> CudaRefusal:
        """The error of what a capture forbids, to be raised: no graph comes of this one any more."""
        self.broken = self.broken or message
        return CudaRefusal(name, message)

    @property
    def begun(self) -> str:
        """``begin_capture on line 14 was not ended yet``."""
        return f"begin_capture{f' on line {self.line}' if self.line else ''} was not ended yet"

    def join(self, stream: DeviceStream, after: Iterable[int]) -> None:
        """The stream waits for these nodes, and is captured too from now on."""
        self.ends[stream] = tuple(sorted({*self.ends.get(stream, ()), *after}))

    def finish(self) -> CapturedGraph:
        """The graph. Raises CudaRefusal where a stream that joined was never waited for."""
        reached = self._before(self.ends[self.origin])
        for stream, ends in self.ends.items():
            lost = [i for i in ends if i not in reached]
            if lost:
                raise CudaRefusal("cudaErrorStreamCaptureUnjoined", self._unjoined(stream, lost[-1]))
        return CapturedGraph(tuple(self.nodes), len(self.ends), self.line)

    def _unjoined(self, stream: DeviceStream, node: int) -> str:
        line = self.nodes[node].task.line
        place = f" (its last operation is on line {line})" if line else ""
        return (
            f"stream {stream.number} takes part in the capture{place}, and nothing joins it to stream "
            f"{self.origin.number} again: record an event on it and let stream {self.origin.number} wait for the event "
            "before the capture ends"
        )

    def _before(self, ends: Iterable[int]) -> set[int]:
        found = set(ends)
        stack = list(found)
        while stack:
            for i in self.nodes[stack.pop()].after:
                if i not in found:
                    found.add(i)
                    stack.append(i)
        return found
