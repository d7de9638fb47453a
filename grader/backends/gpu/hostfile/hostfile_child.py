"""The child of a host exercise: runs a student's Python file with a module that is already compiled.

    start     ─▶ creates the context ─▶ {"ready": …}
    baseline  ─▶ {"made": true}; signals ─▶ runs of the baseline; repeated for each baseline
    sandbox   ─▶ applies the inner sandbox ─▶ {"ready": …}
    load      ─▶ loads the module and the host file ─▶ {"loaded": true}
    setup     ─▶ maps arrays of the shared file, calls setup(module, *arrays) ─▶ {"done": true}
    signals   ─▶ run()
    trace     ─▶ loads the host file again, with events around its operations; setup ─▶ {"done": true}
    traced    ─▶ one traced run ─▶ {"done": true, "timeline": …}

Modules of the grader are imported before the sandbox closes, because a host file may not read the package.

Runs are requested through `grader.backends.gpu.hostfile.signals`, everything else by messages. The parent trusts no
answer: it takes the time and reads the outputs in the shared file itself.
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

    closed = outer.apply()  # before the context exists: its threads inherit the sandbox
    message, _ = channel.receive(None)
    printed = Printed(int(message["printf_bytes"]), int(message["printed"]))
    try:
        watch_for_the_gpus()
        cupy.cuda.runtime.setDevice(int(message["device"]))
        cupy.cuda.runtime.free(0)  # creates the context
    except Exception as error:
        channel.send({"error": f"CUDA does not start for a host file: {error}"})
        return
    signals = Signals(int(message["fd"]))
    channel.send({"ready": True, "sandbox": closed})
    if serve_baselines(channel, signals, make) and apply_sandbox(channel, Sandbox(**message["inner"])):
        GpuHostfileWorker(channel, signals, message, printed, load).serve()


def watch_for_the_gpus() -> None:
    """Let CUDA's waits spin instead of sleep. Call it before any context is created."""
    from cuda.bindings import driver

    driver.cuInit(0)
    status, count = driver.cuDeviceGetCount()
    for index in range(count if status == driver.CUresult.CUDA_SUCCESS else 0):
        status, handle = driver.cuDeviceGet(index)
        if status == driver.CUresult.CUDA_SUCCESS:
            driver.cuDevicePrimaryCtxSetFlags(handle, int(driver.CUctx_flags.CU_CTX_SCHED_SPIN))


def load(message: Message) -> Any:
    """The module of the parent's ``load`` message."""
    cooperative, devices = bool(message["cooperative"]), int(message["devices"])
    return load_module(bytes(message["cubin"]), str(message["kernel"]), cooperative=cooperative, devices=devices)


class GpuHostfileWorker(HostfileWorker):
    """A worker whose runs are requested by signals, with CUDA's errors and traced runs."""

    def __init__(
        self, channel: Channel, signals: Signals, start: Message, printed: Printed, load: Callable[[Message], Any]
    ) -> None:
        super().__init__(channel, start, printed, load)
        self._signals = signals
        self._load_message: Message = {}
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
        """A kernel's fault has its own verdict; any other error of CUDA is a ``cuda_error``."""
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
        self._load_message, self._devices = message, int(message["devices"])
        return super()._load(message)

    def _trace(self, message: Message) -> Message:
        """Load the host file again, as traced code with mappings of its own, and call its `setup`."""
        import cupy

        tracer, module = Tracer(cupy.cuda, self._name), self._module
        self._tracer = tracer
        self._between = between(tracer, cupy)  # for the rest of this process
        self._between.__enter__()
        self._load_module = lambda _: TracedModule(module, tracer)
        self._load(self._load_message)
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
