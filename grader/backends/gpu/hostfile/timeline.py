"""One run of a host file with events around its operations: the bars of a timeline, which is not graded.

Child side: after the timed runs the host file is loaded again, and `between` puts hooks into CuPy that report queued
operations to the `Tracer`. Each operation gets two events on its own stream; time begins at an origin event, which is
recorded while the GPU is idle. Operations without a hook (`cupy.add`, `MemoryPointer.copy_from_host_async`) are not
drawn. Parent side: `timeline_of` checks the child's answer, which is hostile data.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import FrameType, SimpleNamespace
from typing import Any

from grader.verdict import Operation, Timeline

MOST_OPERATIONS = 2000
_HOST, _UNREGISTERED = 1, 0  # cudaMemoryType


class Tracer:
    """Records operations while it is `on`. ``cuda`` is the module `cupy.cuda`, ``file`` the host file's name in stack
    frames.
    """

    def __init__(self, cuda: Any, file: str) -> None:
        self._cuda = cuda
        self._file = file
        self._arrays: list[tuple[int, int]] = []
        self._numbers: dict[int, int] = {0: 0, 1: 0, 2: 0}  # handles of the default streams
        # For each operation: kind, name and stream; its events; bytes, line and device. The name is a kernel's, or an
        # array's number: the parent knows its name.
        self._bars: list[tuple[tuple[str, str | int | None, int], tuple[Any, Any], tuple[int, int | None, int]]] = []
        # The runtime's own functions, without hooks.
        self._calls = SimpleNamespace(**{name: getattr(cuda.runtime, name) for name in _NEEDED})
        self.on = False

    # -- operations --------------------------------------------------------------------------------------------------

    def around(self, kind: str, name: str | int | None, stream: int, size: int, call: Callable[[], Any]) -> Any:
        """``call`` between two events on ``stream``, if they can be recorded: tracing must not change the run."""
        start = self._mark(stream) if self.on and len(self._bars) < MOST_OPERATIONS else None
        result = call()
        stop = self._mark(stream) if start is not None else None
        if start is not None and stop is not None:
            where = size, self._line(), self._calls.getDevice()
            self._bars.append(((kind, name, self.number(stream)), (start, stop), where))
        return result

    def _mark(self, stream: int) -> Any:
        """A recorded event on ``stream``; None if the stream is being captured, or belongs to another device."""
        try:
            if self._calls.streamIsCapturing(stream):
                return None
            event = self._cuda.Event()
            self._calls.eventRecord(event.ptr, stream)
        except Exception:
            return None
        return event

    def number(self, stream: int) -> int:
        """The number of a stream: from 1 in the order of creation; 0 is the default stream."""
        return self._numbers.setdefault(stream, 1 + max(self._numbers.values()))

    def made(self, stream: int) -> None:
        """Number a new stream, which may have the handle of a destroyed one."""
        if stream > 2:
            self._numbers.pop(stream, None)
            self.number(stream)

    def handle(self, stream: Any) -> int:
        """The handle of a stream, or of the current one."""
        return int((self._cuda.get_current_stream() if stream is None else stream).ptr)

    def knows(self, address: int, size: int) -> None:
        """Add the next of the exercise's arrays, with its address in host memory."""
        self._arrays.append((address, size))

    def array_at(self, *addresses: int) -> int | None:
        """The number of the exercise's array that contains one of the addresses; None if there is none."""
        for address in addresses:
            for number, (start, size) in enumerate(self._arrays):
                if start <= address < start + size:
                    return number
        return None

    def copy_kind(self, kind: int, to: int, source: int) -> str:
        """The kind of a bar for a copy with this cudaMemcpyKind and these addresses; "" for host to host."""
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
        """Run once; returns the bars, in seconds from its beginning. Raises what ``run`` raises, and CUDA's errors."""
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
        operations = []
        for what, events, (*where, device) in self._bars:
            if device in origins:
                origin, happened = origins[device]
                since_ms = [float(self._calls.eventElapsedTime(origin.ptr, event.ptr)) for event in events]
                operations.append([*what, *(happened - began + 1e-3 * ms for ms in since_ms), *where, device])
        return {"elapsed_s": elapsed_s, "operations": operations}

    def _origins(self, devices: int) -> dict[int, tuple[Any, float]]:
        """For each device an event, and its time by this process's clock: the device was idle."""
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
                self._numbers.pop(int(stream.ptr), None)  # it is not a stream of the host file
        return found


_NEEDED = (
    "getDevice", "deviceSynchronize", "eventRecord", "eventSynchronize", "eventElapsedTime", "streamIsCapturing",
    "pointerGetAttributes",
)  # fmt: skip


# -------------------------------------------------------------------------------------------------- hooks into CuPy


@contextlib.contextmanager
def between(tracer: Tracer, cupy: Any) -> Iterator[None]:
    """Inside this context, CuPy reports copies, fills, graphs and streams to the tracer."""
    cuda = cupy.cuda
    places = [
        (cuda.runtime, name, _runtime_call(tracer, getattr(cuda.runtime, name), kind, tuple(parameters.split())))
        for name, (kind, parameters) in _RUNTIME.items()
        if hasattr(cuda.runtime, name)
    ]
    places += [
        (cupy.ndarray, "set", _method(tracer, cupy.ndarray.set, "to_device")),
        (cupy.ndarray, "get", _method(tracer, cupy.ndarray.get, "to_host")),
        (cuda.Stream, "end_capture", _end_capture(tracer, cuda.Stream.end_capture)),
        (cuda.Stream, "__init__", _made(tracer, cuda.Stream.__init__)),
    ]
    with contextlib.ExitStack() as undo:
        for owner, name, wrapped in places:
            if name in vars(owner):
                undo.callback(setattr, owner, name, vars(owner)[name])
            else:  # a class that inherits it
                undo.callback(delattr, owner, name)
            setattr(owner, name, wrapped)
        yield


_RUNTIME: Mapping[str, tuple[str, str]] = {
    "memcpyAsync": ("copy", "dst src size kind stream"),
    "memcpy": ("copy", "dst src size kind"),
    "memsetAsync": ("fill", "ptr value size stream"),
    "memset": ("fill", "ptr value size"),
    "memcpyPeerAsync": ("peer", "dst dstDevice src srcDevice size stream"),
    "memcpyPeer": ("peer", "dst dstDevice src srcDevice size"),
    "memPrefetchAsync": ("prefetch", "devPtr count dstDevice stream"),
    "graphLaunch": ("kernel", "graphExec stream"),
}
"""The kind of a bar, and CuPy's names of the parameters, which a host file may use as keywords."""


def _runtime_call(tracer: Tracer, original: Any, kind: str, parameters: tuple[str, ...]) -> Any:
    """A function of `cupy.cuda.runtime`, traced."""

    def call(*args: Any, **keywords: Any) -> Any:
        given = dict(zip(parameters, args, strict=False)) | keywords
        if not tracer.on or given.keys() != set(parameters):
            return original(*args, **keywords)
        bar = kind
        name: str | int | None = "graph" if kind == "kernel" else None
        if kind == "copy":
            ends = given["dst"], given["src"]
            bar, name = tracer.copy_kind(given["kind"], *ends), tracer.array_at(*ends)
        if not bar:
            return original(*args, **keywords)
        size = int(given.get("size", given.get("count", 0)))
        return tracer.around(bar, name, int(given.get("stream", 0)), size, partial(original, *args, **keywords))

    return call


def _method(tracer: Tracer, original: Any, kind: str) -> Any:
    """``ndarray.set(arr, stream)`` or ``ndarray.get(stream, order, out, blocking)``, traced."""

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        if not tracer.on:
            return original(self, *args, **keywords)
        stream = keywords.get("stream", next((a for a in args if hasattr(a, "ptr") and hasattr(a, "record")), None))
        host: Any = keywords.get("out") if kind == "to_host" else next(iter(args), keywords.get("arr"))
        name = tracer.array_at(host.ctypes.data) if hasattr(host, "ctypes") else None
        call = partial(original, self, *args, **keywords)
        return tracer.around(kind, name, tracer.handle(stream), int(self.nbytes), call)

    return method


def _end_capture(tracer: Tracer, original: Any) -> Any:
    return lambda self: TracedGraph(original(self), tracer)


def _made(tracer: Tracer, original: Any) -> Any:
    def made(self: Any, *args: Any, **keywords: Any) -> None:
        original(self, *args, **keywords)
        tracer.made(int(self.ptr))

    return made


class _Traced:
    """Wraps an object of CuPy and reports its launches to the tracer; other attributes are those of the object."""

    __slots__ = ("_name", "_real", "_tracer")

    def __init__(self, real: Any, tracer: Tracer, name: str = "graph") -> None:
        for slot, value in (("_real", real), ("_tracer", tracer), ("_name", name)):
            object.__setattr__(self, slot, value)

    def _launched(self, stream: Any, call: Callable[[], Any]) -> Any:
        tracer: Tracer = self._tracer
        return tracer.around("kernel", self._name, tracer.handle(stream), 0, call) if tracer.on else call()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real, name, value)


class TracedModule(_Traced):
    """A `cupy.RawModule` whose kernels are traced."""

    def get_function(self, name: str) -> TracedKernel:
        return TracedKernel(self._real.get_function(name), self._tracer, str(name))


class TracedKernel(_Traced):
    """A `cupy.RawKernel`."""

    def __call__(self, grid: Any, block: Any, args: Any, **keywords: Any) -> Any:
        return self._launched(keywords.get("stream"), lambda: self._real(grid, block, args, **keywords))


class TracedGraph(_Traced):
    """A `cupy.cuda.Graph`; each launch is one bar."""

    def launch(self, stream: Any = None) -> Any:
        return self._launched(stream, lambda: self._real.launch(stream))


# ------------------------------------------------------------------------------------------------ the parent's side

KINDS = frozenset(("kernel", "to_device", "to_host", "on_device", "peer", "fill", "prefetch"))
NAME_LENGTH = 60
LONGEST_S = 3600.0
_MOST = {"stream": 10_000, "bytes": 1 << 50, "line": 1_000_000, "device": 64}


def timeline_of(data: object, arrays: Sequence[str], device: str) -> Timeline | None:
    """The timeline in ``data``; None if anything in it is invalid. ``arrays`` are the exercise's names of arrays."""
    if not isinstance(data, dict) or not _is_time(data.get("elapsed_s")):
        return None
    bars = data.get("operations")
    if not isinstance(bars, list) or not 0 < len(bars) <= MOST_OPERATIONS:
        return None
    operations = [_operation(bar, arrays) for bar in bars]
    known = tuple(operation for operation in operations if operation is not None)
    return Timeline(known, float(data["elapsed_s"]), False, device) if len(known) == len(bars) else None


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
    """The name of a kernel, cut, or of the array with this number; None if it is neither."""
    if name is None:
        return ""
    if isinstance(name, str):
        return "".join(c for c in name[:NAME_LENGTH] if c.isprintable())
    return arrays[name] if isinstance(name, int) and _is_count(name, len(arrays) - 1) else None


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _is_time(value: object) -> bool:
    """Whether ``value`` is a plausible number of seconds, not NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LONGEST_S
