"""Streams and events: what each operation comes after.

An operation comes after what its stream holds. The legacy default stream and the blocking streams of its device wait
for each other at every operation; a stream made with ``non_blocking`` waits for its events only. An event is a place
in a stream: recording it again moves it, and who waited before still waits for the old place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader.standin.device.graphs import Capture, CapturedGraph
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
    where: int = 0  # the line that recorded it last
    captured: tuple[Capture, tuple[int, ...]] | None = None


class Streams:
    """All streams and events. ``queued`` holds what was issued, in that order, until `forget_done`."""

    def __init__(self, devices: int) -> None:
        self.chains = Chains()
        self.queued: list[StreamOperation] = []
        self._handles: dict[int, DeviceStream] = {}
        self._all: list[DeviceStream] = []
        self._events: dict[int, DeviceEvent] = {}
        self._graphs: dict[int, CapturedGraph] = {}
        self._next = FIRST_HANDLE
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
        self._handles[self._handle()] = self._new(device, self._number(), blocking=blocking)
        return self._next - 1

    def _made(self) -> int:
        return sum(not stream.is_default for stream in self._all)

    def _number(self) -> int:
        return (self._first or 0) + self._made() - self._old + 1

    def renumber(self) -> None:
        """Number streams that are made from now on from 1 again, behind those that were there before any `setup`."""
        self._old = self._made()
        self._first = self._old if self._first is None else self._first

    def _handle(self) -> int:
        self._next += 1
        return self._next - 1

    def stream(self, handle: int) -> DeviceStream:
        """The stream of a handle. Raises CudaRefusal."""
        found = self._handles.get(handle)
        if found is None:
            raise CudaRefusal(INVALID, f"there is no stream {handle}, or it was destroyed")
        return found

    def destroy(self, handle: int) -> None:
        """The handle is gone; what is queued is still done."""
        if handle < FIRST_HANDLE:
            raise CudaRefusal(INVALID, "a default stream cannot be destroyed")
        self.stream(handle)
        del self._handles[handle]

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
        marks = [event.mark for event in self._events.values()]
        for op in (*(stream.tail for stream in self._all), *marks, *(graph.last for graph in self._graphs.values())):
            if op is not None:
                op.before = ()

    # -- events -----------------------------------------------------------------------------------------------------
    def create_event(self, device: int, *, timing: bool) -> int:
        handle = self._handle()
        self._events[handle] = DeviceEvent(device, timing)
        return handle

    def event(self, handle: int) -> DeviceEvent:
        """The event of a handle. Raises CudaRefusal."""
        found = self._events.get(handle)
        if found is None:
            raise CudaRefusal(INVALID, f"there is no event {handle}, or it was destroyed")
        return found

    def destroy_event(self, handle: int) -> None:
        self.event(handle)
        del self._events[handle]

    def record(self, event: DeviceEvent, stream: DeviceStream, where: int = 0) -> StreamOperation | None:
        """The event is now this place in the stream, a mark. Raises CudaRefusal where that is another device's."""
        if event.device != stream.device:
            raise CudaRefusal(
                INVALID,
                f"the event is of device {event.device}, and the stream of device {stream.device}: make the event "
                f"while device {stream.device} is current (`with cupy.cuda.Device({stream.device}):`)",
            )
        event.where = where
        if stream.capture is not None:
            event.captured, event.mark = (stream.capture, stream.capture.ends[stream]), None
        else:
            event.captured, event.mark = None, self.issue(None, stream)
        return event.mark

    def wait(self, stream: DeviceStream, event: DeviceEvent, where: int = 0) -> StreamOperation | None:
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
            op.waits = AwaitedEvent(where, event.where, mark.number, mark.chain, mark.index, mark.stream, event.device)
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

    def begin(self, stream: DeviceStream, where: int, mode: int) -> None:
        """What is put into the stream from now on makes a graph; ``where`` is the line that says so."""
        if stream.is_default:
            raise CudaRefusal(
                "cudaErrorStreamCaptureUnsupported", "the default stream cannot be captured: make a stream for it"
            )
        if stream.capture is not None:
            raise CudaRefusal("cudaErrorIllegalState", f"stream {stream.number} is being captured already")
        stream.capture = Capture(stream, where, relaxed=mode == RELAXED)

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

    def add_graph(self, graph: CapturedGraph) -> int:
        """A new graph's handle."""
        handle = self._handle()
        self._graphs[handle] = graph
        return handle

    def graph(self, handle: int) -> CapturedGraph:
        """The graph of a handle. Raises CudaRefusal."""
        found = self._graphs.get(handle)
        if found is None:
            raise CudaRefusal(INVALID, f"there is no graph {handle}, or it was destroyed")
        return found

    def destroy_graph(self, handle: int) -> None:
        self.graph(handle)
        del self._graphs[handle]
