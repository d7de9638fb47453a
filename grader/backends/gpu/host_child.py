"""The child of a host exercise: runs a student's Python file beside a module that is already compiled.

    start ─▶ context ─▶ {"ready": …}
    calls ─▶ copies over the link, until told to leave; then the inner sandbox is closed
    load  ─▶ the module and the host file ─▶ {"loaded": true}
    setup ─▶ maps arrays of the shared file, calls setup(module, *arrays) ─▶ {"done": true}
    calls ─▶ run(), until told to leave

Calls come through `grader.backends.gpu.signals`, everything else as messages. Nothing that is said here is believed:
the parent takes the time and looks at what the mappings hold.
"""

from __future__ import annotations

import gc
import mmap
import tempfile
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.backends.gpu.faults import diagnostic, fault_of
from grader.backends.gpu.mappings import Span, view
from grader.backends.gpu.signals import Signals

if TYPE_CHECKING:
    from grader.backends.gpu.output import Printed
    from grader.channel import Channel
    from grader.sandbox import Sandbox


def main() -> None:
    """Serve one parent; called by `grader.channel.spawn`."""
    from grader.channel import Sandbox, attach

    channel, outer = attach()
    import cupy
    from cuda.bindings import driver  # noqa: F401  # what is heavy is imported before the doors close

    from grader.backends.gpu.cuda import flush_standard_output
    from grader.backends.gpu.output import Printed

    closed = outer.apply()  # before the context exists: its threads inherit what is closed now
    message, _ = channel.receive(None)
    printed = Printed(int(message["printf_bytes"]), flush_standard_output)
    fd, link_bytes = int(message["fd"]), int(message["link_bytes"])
    try:
        watch_for_the_gpu(int(message["device"]))
        cupy.cuda.runtime.setDevice(int(message["device"]))
        link = LinkCopy(link_bytes) if link_bytes else None
    except Exception as error:
        channel.send({"error": f"CUDA does not start for a host file: {error}"})
        return
    signals = Signals(fd)
    channel.send({"ready": True, "sandbox": closed})
    serve_link(channel, signals, link)
    if close_doors(channel, Sandbox(**message["inner"])):
        HostWorker(channel, signals, fd, printed, load_module).serve()


def watch_for_the_gpu(device: int) -> None:
    """Ask CUDA to watch for the end of a kernel, not to sleep until it is woken. Must come before the context."""
    from cuda.bindings import driver

    driver.cuInit(0)
    status, handle = driver.cuDeviceGet(device)
    if status == driver.CUresult.CUDA_SUCCESS:
        driver.cuDevicePrimaryCtxSetFlags(handle, int(driver.CUctx_flags.CU_CTX_SCHED_SPIN))


class LinkCopy:
    """`cudaMemcpyAsync` of ``size`` bytes from pinned host memory to the device, and the wait for its end."""

    def __init__(self, size: int) -> None:
        from cupy.cuda import Stream, runtime

        self._runtime, self._size = runtime, size
        self._stream = Stream(non_blocking=True)
        self._host = runtime.hostAlloc(size, runtime.hostAllocMapped)
        self._device = runtime.malloc(size)
        runtime.memset(self._device, 0, size)

    def run(self) -> dict[str, Any]:
        """One copy. Raises CuPy's error where CUDA refuses it."""
        kind = self._runtime.memcpyHostToDevice
        self._runtime.memcpyAsync(self._device, self._host, self._size, kind, self._stream.ptr)
        self._runtime.streamSynchronize(self._stream.ptr)
        return {"done": True}

    def free(self) -> None:
        self._runtime.free(self._device)
        self._runtime.freeHost(self._host)


def serve_link(channel: Channel, signals: Signals, link: LinkCopy | None) -> None:
    """Let the parent time the link's copies, as it will time runs."""
    if link is None:
        return

    def run() -> dict[str, Any]:
        try:
            return link.run()
        except Exception as error:
            return {"error": f"the link's speed could not be measured: {error}"}

    serve_calls(channel, signals, run)
    link.free()


def close_doors(channel: Channel, inner: Sandbox) -> bool:
    """Close what the host file must not reach; False where that failed, and the parent was told."""
    try:
        inner.apply()
    except Exception as error:
        channel.receive(None)
        channel.send({"error": f"the host file's sandbox could not be closed: {error}"})
        return False
    gc.collect()
    gc.disable()  # no collection in the middle of a run
    return True


def serve_calls(channel: Channel, signals: Signals, run: Callable[[], dict[str, Any]]) -> None:
    """Call ``run`` for each of the parent's calls until it says to leave. What failed is told by a message."""
    while (number := signals.next()) is not None:
        answer = run()
        failed = "done" not in answer
        if failed:
            channel.send(answer)
        signals.end(number, failed=failed)


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

    def __init__(
        self, channel: Channel, signals: Signals, fd: int, printed: Printed, load: Callable[[bytes, str], Any]
    ) -> None:
        self._channel = channel
        self._fd = fd
        self._signals = signals
        self._printed = printed
        self._load_module = load
        self._name = ""
        self._module: Any = None
        self._functions: dict[str, Callable[..., Any]] = {}
        self._mappings: list[mmap.mmap] = []  # kept until the process ends: a registered page must not disappear
        self._actions = {"load": self._load, "setup": self._setup, "printed": self._take_printed}

    def serve(self) -> None:
        """Answer until the parent closes the channel."""
        from grader.channel import ChannelClosed

        while True:
            try:
                message, _ = self._channel.receive(None)
            except ChannelClosed:
                return
            answer = self._answer(partial(self._actions[message["do"]], message))
            self._channel.send(answer)
            if message["do"] == "setup" and "done" in answer:
                serve_calls(self._channel, self._signals, lambda: self._answer(self._run))

    def _answer(self, action: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        try:
            return action()
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

    def _run(self) -> dict[str, Any]:
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
