"""The child of a host exercise: runs a student's Python file beside a module that is already compiled.

    start     ─▶ context ─▶ {"ready": …}
    baseline ─▶ {"made": true}; calls ─▶ what runs are measured against, until told to leave; and the next one
    sandbox   ─▶ the inner sandbox is closed ─▶ {"ready": …}
    load      ─▶ the module and the host file ─▶ {"loaded": true}
    setup     ─▶ maps arrays of the shared file, calls setup(module, *arrays) ─▶ {"done": true}
    calls     ─▶ run(), until told to leave
    trace     ─▶ the host file again, with events around what it queues, and its setup ─▶ {"done": true}
    traced    ─▶ one run of it ─▶ {"done": true, "timeline": …}

Whatever it needs of the grader is imported before the sandbox closes: the package is closed to a host file.

Calls come through `grader.backends.gpu.hostfile.signals`, everything else as messages. Nothing that is said here is
believed: the parent takes the time and looks at what the mappings hold.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from grader.backends.gpu.faults import FAULTS, error_name, fault_diagnostic, fault_of, is_sticky
from grader.backends.gpu.hostfile.baseline_child import load_module, make, serve_baselines
from grader.backends.gpu.hostfile.signals import Signals
from grader.backends.gpu.hostfile.timeline import TracedModule, Tracer, between
from grader.backends.hostfile.worker import HostfileWorker, apply_sandbox

if TYPE_CHECKING:
    from grader.backends.mappings import Span
    from grader.backends.output import Printed
    from grader.process.channel import Channel

    Message = dict[str, Any]


def main() -> None:
    """Serve one parent; called by `grader.process.child.spawn`."""
    from grader.process.channel import attach
    from grader.process.sandbox import Sandbox

    channel, outer = attach()
    for heavy in ("cupy", "cuda.bindings.driver", "cuda.bindings.runtime"):
        import_module(heavy)  # before the sandbox closes
    import cupy

    from grader.backends.output import Printed

    closed = outer.apply()  # before the context exists: its threads inherit what is closed now
    message, _ = channel.receive(None)
    printed = Printed(int(message["printf_bytes"]), int(message["printed"]))
    try:
        watch_for_the_gpus()
        cupy.cuda.runtime.setDevice(int(message["device"]))
        cupy.cuda.runtime.free(0)  # makes the context
    except Exception as error:
        channel.send({"error": f"CUDA does not start for a host file: {error}"})
        return
    signals = Signals(int(message["fd"]))
    channel.send({"ready": True, "sandbox": closed})
    if serve_baselines(channel, signals, make) and apply_sandbox(channel, Sandbox(**message["inner"])):
        GpuHostfileWorker(channel, signals, message, printed, load).serve()


def watch_for_the_gpus() -> None:
    """Ask CUDA to watch for the end of a kernel, not to sleep until it is woken. Must come before any context."""
    from cuda.bindings import driver

    driver.cuInit(0)
    status, count = driver.cuDeviceGetCount()
    for index in range(count if status == driver.CUresult.CUDA_SUCCESS else 0):
        status, handle = driver.cuDeviceGet(index)
        if status == driver.CUresult.CUDA_SUCCESS:
            driver.cuDevicePrimaryCtxSetFlags(handle, int(driver.CUctx_flags.CU_CTX_SCHED_SPIN))


def load(told: Message) -> Any:
    """The module that the parent's message describes."""
    cooperative, devices = bool(told["cooperative"]), int(told["devices"])
    return load_module(bytes(told["cubin"]), str(told["kernel"]), cooperative=cooperative, devices=devices)


class GpuHostfileWorker(HostfileWorker):
    """A worker of a host file whose runs are called by signals, with CUDA's errors and traced runs."""

    def __init__(
        self, channel: Channel, signals: Signals, told: Message, printed: Printed, load: Callable[[Message], Any]
    ) -> None:
        super().__init__(channel, told, printed, load)
        self._signals = signals
        self._told: Message = {}
        self._devices = 1
        self._tracer: Tracer | None = None
        self._actions |= {"trace": self._trace, "traced": self._traced}

    def serve(self) -> None:
        gc.collect()
        gc.disable()  # no collection in the middle of a run
        super().serve()

    def after_setup(self) -> None:
        self._signals.serve(self._channel, self.run)

    def finding(self, error: BaseException) -> tuple[str, Message] | None:
        """What a kernel did wrong has its own verdict; what CUDA refused the host file is ``cuda_error``."""
        text = str(error)
        fault = fault_of(text)
        if fault is not None and is_sticky(text):
            return fault.verdict, {
                "kind": fault.kind,
                "message": fault_diagnostic(fault, None).message,
                "hint": fault.hint,
            }
        if error_name(text) or type(error).__name__ == "OutOfMemoryError":
            return "crash", {"kind": "cuda_error", "message": text, "hint": _HINTS.get(error_name(text), "")}
        return None

    def _load(self, message: Message) -> Message:
        self._told, self._devices = message, int(message["devices"])
        return super()._load(message)

    def _trace(self, message: Message) -> Message:
        """Read the host file once more, as traced code on mappings of its own, and call its `setup`."""
        import cupy

        tracer, module = Tracer(cupy.cuda, self._name), self._module
        self._tracer = tracer
        self._between = between(tracer, cupy)  # for the rest of this process
        self._between.__enter__()
        self._load_module = lambda told: TracedModule(module, tracer)
        self._load(self._told)
        return self._setup(message)

    def array(self, span: Span, dtype: str) -> Any:
        found = super().array(span, dtype)
        if self._tracer is not None:
            self._tracer.knows(found.ctypes.data, found.nbytes)
        return found

    def _traced(self, _: Message) -> Message:
        assert self._tracer is not None
        return {"done": True, "timeline": self._tracer.record(self._functions["run"], self._devices)}


_HINTS = {
    "cooperativelaunchtoolarge": "all blocks of a cooperative launch must be on the GPU at once: ask for no more than "
    "occupancyMaxActiveBlocksPerMultiprocessor of them on each multiprocessor",
    "hostmemoryalreadyregistered": "setup may be called again with other arrays, but pins each of them only once",
    "launchoutofresources": FAULTS["launchoutofresources"].hint,
    "streamcaptureunsupported": "what waits for the GPU cannot be captured: wait after the graph's launch",
}
"""By CUDA's error, as `grader.backends.gpu.faults` names it."""
