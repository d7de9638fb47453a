"""One run of a host file with events around what it queues: the bars of a timeline, drawn and never graded.

Child side: `Tracer`. The timed runs are over by then. The host file is read once more, and `cupy_hooks` tells the
tracer what it queues. Each operation is put between two events on its own stream; an origin event, recorded while the
GPU was idle, is where time begins. Parent side: `timeline_of` reads what the child says, which is hostile data.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType, SimpleNamespace
from typing import Any

from grader.verdict import Operation, Timeline

MOST_OPERATIONS = 2000
_HOST, _UNREGISTERED = 1, 0  # cudaMemoryType


@dataclass(frozen=True)
class TracedOperation:
    """One operation between its events."""

    kind: str
    name: str | int | None  # a kernel's; of an array the number, which the parent knows by name
    stream: int
    device: int
    size: int
    line: int | None
    start: Any
    stop: Any


class Tracer:
    """Records operations while it is `on`. ``cuda`` is the module `cupy.cuda`, ``file`` the host file's name in its
    frames.
    """

    def __init__(self, cuda: Any, file: str) -> None:
        self._cuda = cuda
        self._file = file
        self._arrays: list[tuple[int, int]] = []
        self._numbers: dict[int, int] = {0: 0, 1: 0, 2: 0}  # handles of the default streams
        self._bars: list[TracedOperation] = []
        self._calls = _calls(cuda)
        self.on = False

    # -- what happens ------------------------------------------------------------------------------------------------

    def around(self, kind: str, name: str | int | None, stream: int, size: int, call: Callable[[], Any]) -> Any:
        """``call`` between two events on ``stream``, if that can be: a traced run must do what an untraced one does."""
        start = self._mark(stream) if self.on and len(self._bars) < MOST_OPERATIONS else None
        result = call()
        stop = self._mark(stream) if start is not None else None
        if start is not None and stop is not None:
            device = self._calls.getDevice()
            bar = TracedOperation(kind, name, self.number(stream), device, size, self._line(), start, stop)
            self._bars.append(bar)
        return result

    def _mark(self, stream: int) -> Any:
        """An event on ``stream``; None where the stream is being captured, or belongs to another device."""
        try:
            if self._calls.streamIsCapturing(stream):
                return None
            event = self._cuda.Event()
            self._calls.eventRecord(event.ptr, stream)
        except Exception:
            return None
        return event

    def number(self, stream: int) -> int:
        """Streams count from 1 as they were made; 0 is the default stream of its device."""
        return self._numbers.setdefault(stream, 1 + max(self._numbers.values()))

    def made(self, stream: int) -> None:
        """A stream was made, perhaps with the handle of one that is gone."""
        if stream > 2:
            self._numbers.pop(stream, None)
            self.number(stream)

    def current_stream(self) -> int:
        return int(self._cuda.get_current_stream().ptr)

    def knows(self, address: int, size: int) -> None:
        """The next of the exercise's arrays lies there in the host's memory."""
        self._arrays.append((address, size))

    def array_at(self, *addresses: int) -> int | None:
        """Which of the exercise's arrays one of the addresses lies in; None where none does."""
        for address in addresses:
            for number, (start, size) in enumerate(self._arrays):
                if start <= address < start + size:
                    return number
        return None

    def copy_kind(self, kind: int, to: int, source: int) -> str:
        """What a cudaMemcpyKind is for these addresses; "" from host to host, which no GPU takes part in."""
        known = {0: "", 1: "to_device", 2: "to_host", 3: "on_device"}.get(kind)
        if known is not None:
            return known
        sides = (self._on_host(to), self._on_host(source))
        return {(False, True): "to_device", (True, False): "to_host", (False, False): "on_device"}.get(sides, "")

    def _on_host(self, address: int) -> bool:
        try:
            return self._calls.pointerGetAttributes(address).type in (_HOST, _UNREGISTERED)
        except Exception:  # CUDA does not know the address: ordinary memory
            return True

    def _line(self) -> int | None:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename == self._file:
                return frame.f_lineno
            frame = frame.f_back
        return None

    # -- the traced run ----------------------------------------------------------------------------------------------

    def record(self, run: Callable[[], Any], devices: int) -> dict[str, Any]:
        """Run once, and tell the bars in seconds from its beginning. Raises what ``run`` raises, and CUDA's errors."""
        origins = self._origins(devices)
        self._bars.clear()
        began = min(happened for _, happened in origins.values())
        self.on = True
        try:
            run()
        finally:
            self.on = False
        elapsed_s = time.perf_counter() - began
        for device in origins:
            with self._cuda.Device(device):
                self._calls.deviceSynchronize()
        told = [self._told(bar, origins, began) for bar in self._bars if bar.device in origins]
        return {"elapsed_s": elapsed_s, "operations": told}

    def _origins(self, devices: int) -> dict[int, tuple[Any, float]]:
        """For each device an event, and when it happened by this process's clock: nothing else was running."""
        found = {}
        here = self._calls.getDevice()
        for device in range(devices) if devices > 1 else (here,):
            with self._cuda.Device(device):
                stream = self._cuda.Stream(non_blocking=True)
                self._calls.deviceSynchronize()
                event = self._cuda.Event()
                self._calls.eventRecord(event.ptr, stream.ptr)
                self._calls.eventSynchronize(event.ptr)
                found[device] = (event, time.perf_counter())
                self._numbers.pop(int(stream.ptr), None)  # it is none of the host file's
        return found

    def _told(self, bar: TracedOperation, origins: Mapping[int, tuple[Any, float]], began: float) -> list[Any]:
        origin, happened = origins[bar.device]
        times = [
            happened - began + 1e-3 * float(self._calls.eventElapsedTime(origin.ptr, event.ptr))
            for event in (bar.start, bar.stop)
        ]
        return [bar.kind, bar.name, bar.stream, *times, bar.size, bar.line, bar.device]


_NEEDED = (
    "getDevice", "deviceSynchronize", "eventRecord", "eventSynchronize", "eventElapsedTime", "streamIsCapturing",
    "pointerGetAttributes",
)  # fmt: skip


def _calls(cuda: Any) -> Any:
    """The runtime's own functions, as they are before anything is put around them."""
    return SimpleNamespace(**{name: getattr(cuda.runtime, name) for name in _NEEDED})


KINDS = frozenset(("kernel", "to_device", "to_host", "on_device", "peer", "fill", "prefetch"))
NAME_LENGTH = 60
LONGEST_S = 3600.0
_MOST = {"stream": 10_000, "bytes": 1 << 50, "line": 1_000_000, "device": 64}


def timeline_of(told: object, arrays: Sequence[str], device: str) -> Timeline | None:
    """The timeline of ``told``; None where any of it is not as it should be. ``arrays`` are the exercise's names."""
    if not isinstance(told, dict) or not _is_time(told.get("elapsed_s")):
        return None
    bars = told.get("operations")
    if not isinstance(bars, list) or not 0 < len(bars) <= MOST_OPERATIONS:
        return None
    operations = [_operation(bar, arrays) for bar in bars]
    known = tuple(operation for operation in operations if operation is not None)
    return Timeline(known, float(told["elapsed_s"]), False, device) if len(known) == len(bars) else None


def _operation(bar: Any, arrays: Sequence[str]) -> Operation | None:
    if not isinstance(bar, list) or len(bar) != 8:
        return None
    kind, name, stream, start_s, stop_s, size, line, device = bar
    numbers = {"stream": stream, "bytes": size, "line": 0 if line is None else line, "device": device}
    fine = (
        isinstance(kind, str)
        and kind in KINDS
        and all(_is_count(value, _MOST[what]) for what, value in numbers.items())
        and _is_time(start_s)
        and _is_time(stop_s)
        and start_s <= stop_s
    )
    called = _name(name, arrays)
    if not fine or called is None:
        return None
    return Operation(kind, called, stream, float(start_s), float(stop_s), size, line or None, device)


def _name(name: object, arrays: Sequence[str]) -> str | None:
    """A kernel's name, cut; an array's by its number; None where it is neither."""
    if name is None:
        return ""
    if isinstance(name, str):
        return "".join(c for c in name[:NAME_LENGTH] if c.isprintable())
    return arrays[name] if isinstance(name, int) and _is_count(name, len(arrays) - 1) else None


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _is_time(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return 0 <= value <= LONGEST_S  # which no NaN is
