"""`cupy.cuda.Device`, `Stream`, `Event` and `Graph`."""

from __future__ import annotations

import threading
from typing import Any, ClassVar, Self

from grader.standin.client.connection import call_later
from grader.standin.client.errors import Closed
from grader.standin.client.runtime import DEVICE_ATTRIBUTES, NUMBERS, attributes_of, cuda


class Device(Closed):
    """A GPU by its number; without one, the current GPU."""

    _full_name = "cupy.cuda.Device"

    def __init__(self, device: Any = None) -> None:
        self.id = cuda.getDevice() if device is None else int(device)
        self._before: list[int] = []

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __enter__(self) -> Self:
        self._before.append(cuda.getDevice())
        if self.id != self._before[-1]:
            cuda.setDevice(self.id)
        return self

    def __exit__(self, *args: object) -> None:
        before = self._before.pop()
        if before != cuda.getDevice():
            cuda.setDevice(before)

    def use(self) -> Self:
        cuda.setDevice(self.id)
        return self

    def synchronize(self) -> None:
        with self:
            cuda.deviceSynchronize()

    @property
    def attributes(self) -> dict[str, int]:
        """The device's attributes by name: ``MultiProcessorCount``, ``WarpSize`` …"""
        return {name: value for name, value in attributes_of(self.id).items() if name in DEVICE_ATTRIBUTES}

    @property
    def compute_capability(self) -> str:
        """``"80"`` for 8.0."""
        attributes = attributes_of(self.id)
        return f"{attributes.get('ComputeCapabilityMajor', 8)}{attributes.get('ComputeCapabilityMinor', 0)}"

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes of device memory."""
        with self:
            free, total = cuda.memGetInfo()
        return free, total


def get_device_id() -> int:
    """The number of the current device."""
    return int(cuda.getDevice())


class _Current(threading.local):
    """The current stream of each device, and the stack of `with` blocks, of one thread."""

    def __init__(self) -> None:
        self.stream: dict[int, _BaseStream] = {}
        self.stack: list[tuple[int, _BaseStream]] = []


_CURRENT = _Current()


def get_current_stream(device_id: int = -1) -> _BaseStream:
    """The current stream of a device; -1 means the current device."""
    return _CURRENT.stream.get(cuda.getDevice() if device_id == -1 else device_id, Stream.null)


def pointer_of(stream: Any) -> int:
    """The handle of a stream; None means the current stream."""
    return int((get_current_stream() if stream is None else stream).ptr)


class Event(Closed):
    """A place in a stream for which the host and other streams can wait."""

    _full_name = "cupy.cuda.Event"

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.ptr = 0
        if interprocess and not disable_timing:
            raise ValueError("an event between processes has no timing: disable_timing=True")
        self.ptr = cuda.eventCreateWithFlags(block * 1 | disable_timing * 2 | interprocess * 4)

    def __del__(self) -> None:
        if self.__dict__.get("ptr"):
            call_later("event_destroy", self.ptr)

    @property
    def done(self) -> bool:
        return bool(cuda.eventQuery(self.ptr) == 0)

    def record(self, stream: Any = None) -> None:
        cuda.eventRecord(self.ptr, pointer_of(stream))

    def synchronize(self) -> None:
        cuda.eventSynchronize(self.ptr)


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between two events, by the modelled clock."""
    return float(cuda.eventElapsedTime(start_event.ptr, end_event.ptr))


class _BaseStream(Closed):
    _full_name = "cupy.cuda.Stream"

    def __init__(self, ptr: int, device_id: int) -> None:
        self.ptr = ptr
        self.device_id = device_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BaseStream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return self.ptr

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ptr} (device {self.device_id})>"

    def __enter__(self) -> Self:
        device = self._device()
        _CURRENT.stack.append((device, get_current_stream(device)))
        _CURRENT.stream[device] = self
        return self

    def __exit__(self, *args: object) -> None:
        device, before = _CURRENT.stack.pop()
        _CURRENT.stream[device] = before

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr

    def use(self) -> Self:
        _CURRENT.stream[self._device()] = self
        return self

    def _device(self) -> int:
        """The stream's device. Raises RuntimeError if it is not the current one."""
        current = int(cuda.getDevice())
        if self.device_id not in (-1, current):
            raise RuntimeError(f"this stream is of device {self.device_id}, and the current device is {current}")
        return current

    @property
    def done(self) -> bool:
        return bool(cuda.streamQuery(self.ptr) == 0)

    def synchronize(self) -> None:
        cuda.streamSynchronize(self.ptr)

    def record(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        cuda.eventRecord(event.ptr, self.ptr)
        return event

    def wait_event(self, event: Event) -> None:
        cuda.streamWaitEvent(self.ptr, event.ptr)

    def begin_capture(self, mode: int | None = None) -> None:
        if self.ptr in (0, 1):
            raise RuntimeError("the default stream cannot be captured: make a stream with Stream(non_blocking=True)")
        cuda.streamBeginCapture(self.ptr, 2 if mode is None else mode)

    def end_capture(self) -> Graph:
        return Graph._made(cuda.streamEndCapture(self.ptr))

    def is_capturing(self) -> bool:
        return bool(cuda.streamIsCapturing(self.ptr))

    @property
    def is_non_blocking(self) -> bool:
        return bool(cuda.streamGetFlags(self.ptr) & 1)

    @property
    def priority(self) -> int:
        return int(cuda.streamGetPriority(self.ptr))


class Stream(_BaseStream):
    """A queue of operations that run one after another."""

    null: ClassVar[Stream]
    ptds: ClassVar[Stream]

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None
    ) -> None:
        self._owned = not (null or ptds)
        if not self._owned:
            super().__init__(0 if null else 2, -1)
            return
        flags = NUMBERS["streamNonBlocking"] if non_blocking else 0
        super().__init__(cuda.streamCreateWithPriority(flags, priority or 0), cuda.getDevice())

    def __del__(self) -> None:
        if self.__dict__.get("_owned") and self.__dict__.get("ptr"):
            call_later("stream_destroy", self.ptr)


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


class ExternalStream(_BaseStream):
    """A stream that was created elsewhere, by its handle."""

    _full_name = "cupy.cuda.ExternalStream"

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        super().__init__(int(ptr), device_id)


class Graph(Closed):
    """Captured operations, which can be launched any number of times."""

    _full_name = "cupy.cuda.Graph"

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # CuPy's raises the same
        raise NotImplementedError("a graph is made by capturing a stream: begin_capture(), end_capture()")

    @classmethod
    def _made(cls, handle: int) -> Self:
        graph = cls.__new__(cls)
        graph.graph, graph.graphExec = 0, handle
        return graph

    graph: int
    graphExec: int

    def __del__(self) -> None:
        if self.__dict__.get("graphExec"):
            call_later("graph_destroy", self.graphExec)

    def launch(self, stream: Any = None) -> None:
        cuda.graphLaunch(self.graphExec, pointer_of(stream))

    def upload(self, stream: Any = None) -> None:
        cuda.graphUpload(self.graphExec, pointer_of(stream))
