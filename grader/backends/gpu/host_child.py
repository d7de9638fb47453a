"""The child of a host exercise: runs a student's Python file beside a module that is already compiled.

    start ─▶ context, the link's ceiling, then the inner sandbox ─▶ {"ready": …}
    load  ─▶ the module and the host file ─▶ {"loaded": true}
    setup ─▶ maps arrays of the shared file, calls setup(module, *arrays) ─▶ {"done": true}
    go    ─▶ calls run() ─▶ {"done": true}

Nothing that is said here is believed: the parent takes the time and looks at what the mappings hold.
"""

from __future__ import annotations

import mmap
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.backends.gpu.faults import diagnostic, fault_of
from grader.backends.gpu.mappings import Span, view

if TYPE_CHECKING:
    from grader.backends.gpu.output import Printed
    from grader.channel import Channel

LINK_SAMPLES = 10


def main() -> None:
    """Serve one parent; called by `grader.channel.spawn`."""
    from grader.channel import Sandbox, attach

    channel, outer = attach()
    import cupy

    from grader.backends.gpu.cuda import flush_standard_output
    from grader.backends.gpu.output import Printed

    closed = outer.apply()  # before the context exists: its threads inherit what is closed now
    message, _ = channel.receive(None)
    printed = Printed(int(message["printf_bytes"]), flush_standard_output)
    try:
        cupy.cuda.runtime.setDevice(int(message["device"]))
        link_s = time_link(int(message["link_bytes"]))
        Sandbox(**message["inner"]).apply()
    except Exception as error:
        channel.send({"error": f"CUDA does not start for a host file: {error}"})
        return
    channel.send({"ready": True, "sandbox": closed, "link_s": link_s})
    HostWorker(channel, int(message["fd"]), printed, load_module).serve()


def time_link(size: int) -> list[float]:
    """Seconds of `cudaMemcpyAsync` of ``size`` bytes from pinned host memory, before any of the student's code ran."""
    if size == 0:
        return []
    from cupy.cuda import Event, Stream, alloc_pinned_memory, runtime

    host, device, stream = alloc_pinned_memory(size), runtime.malloc(size), Stream(non_blocking=True)
    runtime.memset(device, 0, size)
    start, stop, seconds = Event(), Event(), []
    for sample in range(LINK_SAMPLES + 2):
        start.record(stream)
        runtime.memcpyAsync(device, host.ptr, size, runtime.memcpyHostToDevice, stream.ptr)
        stop.record(stream)
        stop.synchronize()
        if sample >= 2:
            seconds.append(runtime.eventElapsedTime(start.ptr, stop.ptr) * 1e-3)
    runtime.free(device)
    return seconds


def load_module(cubin: bytes, kernel: str) -> Any:
    """The `cupy.RawModule` that `setup` gets, loaded now, while its file exists."""
    import cupy

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        module = cupy.RawModule(path=file.name)
        module.get_function(kernel)
    return module


class HostWorker:
    """Answers the parent's requests with the student's functions. ``load`` makes the module that `setup` gets."""

    def __init__(self, channel: Channel, fd: int, printed: Printed, load: Callable[[bytes, str], Any]) -> None:
        self._channel = channel
        self._fd = fd
        self._printed = printed
        self._load_module = load
        self._name = ""
        self._module: Any = None
        self._functions: dict[str, Callable[..., Any]] = {}
        self._mappings: list[mmap.mmap] = []  # kept until the process ends: a registered page must not disappear
        self._actions = {"load": self._load, "setup": self._setup, "go": self._go, "printed": self._take_printed}

    def serve(self) -> None:
        """Answer until the parent closes the channel."""
        from grader.channel import ChannelClosed

        while True:
            try:
                message, _ = self._channel.receive(None)
            except ChannelClosed:
                return
            self._channel.send(self._answer(message))

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._actions[message["do"]](message)
        except BaseException as error:  # also SystemExit: a host file may call sys.exit()
            return self._fault(error)

    def _load(self, message: dict[str, Any]) -> dict[str, Any]:
        self._name = str(message["name"])
        self._module = self._load_module(bytes(message["cubin"]), str(message["kernel"]))
        scope: dict[str, Any] = {"__name__": Path(self._name).stem, "__file__": self._name}
        exec(compile(bytes(message["source"]).decode(), self._name, "exec"), scope)
        missing = [name for name in ("setup", "run") if not callable(scope.get(name))]
        if missing:
            text = f"{self._name} defines no function {missing[0]}()"
            return {"fault": "invalid", "message": text, "diagnostics": [{"kind": "invalid", "message": text}]}
        self._functions = {name: scope[name] for name in ("setup", "run")}
        return {"loaded": True}

    def _setup(self, message: dict[str, Any]) -> dict[str, Any]:
        arrays = [self._map(Span(a["offset"], a["size"]), a["dtype"]) for a in message["arrays"]]
        self._functions["setup"](self._module, *arrays)
        return {"done": True}

    def _map(self, span: Span, dtype: str) -> Any:
        mapping = mmap.mmap(self._fd, span.mapped, offset=span.offset)
        self._mappings.append(mapping)
        return view(mapping, span.size, dtype)

    def _go(self, _: dict[str, Any]) -> dict[str, Any]:
        self._functions["run"]()
        return {"done": True}

    def _take_printed(self, _: dict[str, Any]) -> dict[str, Any]:
        printed, too_much = self._printed.take()
        return {"printed": printed, "too_much": too_much}

    def _fault(self, error: BaseException) -> dict[str, Any]:
        """An exception of the student's file as a finding at its line."""
        line = self._line(error)
        fault = fault_of(str(error))
        if fault is not None:
            found: dict[str, Any] = {"kind": fault.kind, "message": diagnostic(fault, None).message, "hint": fault.hint}
            verdict = fault.verdict
        elif isinstance(error, SyntaxError):
            found, verdict = {"kind": "invalid", "message": f"{self._name} is not Python: {error.msg}"}, "invalid"
        else:
            found, verdict = {"kind": "crash", "message": f"{type(error).__name__}: {error}"}, "crash"
        place = {"file": self._name, "line": line} if line else {}
        printed, _ = self._printed.take()
        where = f" ({self._name}:{line})" if line else ""
        message = found["message"] + where
        return {"fault": verdict, "message": message, "diagnostics": [found | place], "printed": printed}

    def _line(self, error: BaseException) -> int | None:
        if isinstance(error, SyntaxError) and error.filename == self._name:
            return error.lineno
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == self._name]
        return lines[-1] if lines else None
