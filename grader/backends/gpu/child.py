"""The GPU child: loads one submission's cubin and answers the parent's requests, until its context is broken.

    parent                                         child
    {"do": "start", "device": 0, …}         ──▶    context, early
    {"do": "prepare", "support": …}         ──▶    the grader's kernels, health check  ──▶  {"ready": …}
    {"do": "load", "cubin": …, "entries": …}──▶    the submission's module        ──▶  {"loaded": true}
    {"do": "run", "plan": …} + arrays       ──▶    one case                       ──▶  {"done": …} + outputs
    {"do": "time", …}                       ──▶    timed launches                 ──▶  {"sample": k}… {"done": …}

An answer with ``fault`` is an error of the submission. After an answer with ``dead`` the process ends, because a CUDA
context cannot be used after an illegal access.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.backends.gpu.arena import Arena
from grader.backends.gpu.cuda import Cuda, CudaError, Module
from grader.backends.gpu.faults import fault_diagnostic, fault_of, is_sticky
from grader.backends.gpu.program import LoadedProgram, only_kernel, run_case
from grader.backends.gpu.wire import LaunchShape, TimedRun, Trusted
from grader.compile import Entry
from grader.errors import GraderFault, SubmissionError, Unsupported
from grader.launch import LaunchPlan
from grader.reading import from_json

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.output import Printed
    from grader.process.channel import Channel

    Answer = tuple[dict[str, Any], dict[str, npt.NDArray[np.generic]]]
    Arrays = dict[str, npt.NDArray[np.generic]]

HEALTH_BYTES = 1 << 16


def main() -> None:
    """Serve one parent; called by `grader.process.child.spawn`."""
    from grader.process.channel import ChannelClosed, attach

    channel, sandbox = attach()
    for heavy in ("cupy", "cuda.bindings.driver", "cupy.cuda.function", "cupy.cuda.runtime"):
        import_module(heavy)  # before the sandbox closes

    from grader.backends.output import Printed

    closed = sandbox.apply()
    message, _ = channel.receive(None)
    printed = Printed(int(message["printf_bytes"]))
    device: Cuda | Exception
    try:
        device = Cuda(int(message["device"]))  # now, while the parent compiles
    except Exception as error:
        device = error
    worker = GpuWorker(channel, device, printed)
    try:
        prepare, _ = channel.receive(None)
    except ChannelClosed:
        return
    worker.start(bytes(prepare["support"]), closed)
    worker.serve()


class GpuWorker:
    """Answers the parent's requests. ``device`` is the GPU, or the exception of its start; tests pass a fake."""

    def __init__(self, channel: Channel, device: Cuda | Exception, printed: Printed) -> None:
        self._channel = channel
        self._made = device
        self._printed = printed
        self._actions: dict[str, Callable[[dict[str, Any], Arrays], Answer]] = {
            "load": self._load,
            "run": self._run,
            "time": self._time,
            "ceiling": self._ceiling,
            "library": self._library,
        }
        self._device: Cuda
        self._arena: Arena
        self._support: Module
        self._program: LoadedProgram | None = None

    def start(self, support: bytes, sandbox: str) -> None:
        """Load the grader's kernels, check that the GPU works, and send the answer."""
        answer, _ = self._guarded(lambda: self._started(support, sandbox), plan=None)
        self._channel.send(answer)

    def serve(self) -> None:
        """Answer until the parent closes the channel, or the context is broken."""
        from grader.process.channel import ChannelClosed

        while True:
            try:
                message, arrays = self._channel.receive(None)
            except ChannelClosed:
                return
            plan = message.get("plan") or message.get("timed", {}).get("plan")
            action = partial(self._actions[message["do"]], message, arrays)
            answer, results = self._guarded(action, plan and from_json(LaunchPlan, plan))
            self._channel.send(answer, results)
            if answer.get("dead"):
                return

    def _guarded(self, action: Callable[[], Answer], plan: LaunchPlan | None) -> Answer:
        """The answer of ``action``; every exception becomes an answer."""
        try:
            return action()
        except CudaError as error:
            return self._fault(str(error), plan), {}
        except SubmissionError as error:
            found = [asdict(one) for one in error.diagnostics]
            return {"fault": error.verdict, "message": error.message, "diagnostics": found, "hint": error.hint}, {}
        except Unsupported as error:
            return {"unsupported": error.message, "hint": error.hint}, {}
        except GraderFault as error:
            return {"error": error.message}, {}
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
            return {"error": f"the GPU process failed: {type(error).__name__}: {error}{where}", "dead": True}, {}

    def _fault(self, text: str, plan: LaunchPlan | None) -> dict[str, Any]:
        fault = fault_of(text)
        if fault is None or (self._program is None and plan is None):
            return {"error": f"CUDA answers: {text}", "dead": True}
        kernel = only_kernel(plan) if plan else None
        line = plan.launches[0].line if plan and kernel and plan.launches[0].line else None
        found = fault_diagnostic(fault, kernel, line)
        printed, _ = self._printed.take()
        return {
            "fault": fault.verdict,
            "message": found.message,
            "hint": fault.hint,
            "diagnostics": [asdict(found)],
            "printed": printed,
            "dead": is_sticky(text),
        }

    # ---------------------------------------------------------------------------------------------- actions

    def _started(self, support: bytes, sandbox: str) -> Answer:
        """Check the GPU with a small case and a stray byte of our own: a GPU in a bad state must not grade."""
        if isinstance(self._made, Exception):
            raise self._made
        self._device = self._made
        self._support = self._device.load(support)
        self._arena = arena = Arena(self._device, self._support)
        arena.lay_out((LaunchShape("health", "uint8", HEALTH_BYTES, "out"),))
        if arena.strays():
            raise GraderFault("this GPU does not keep what is written to its memory")
        self._device.fill8(arena.address("health") + HEALTH_BYTES + 3, arena.guard ^ 0xFF, 1)
        if [stray.index for stray in arena.strays()] != [HEALTH_BYTES + 3]:
            raise GraderFault("this GPU does not compute: a planted byte was not found")
        return {"ready": True, "sandbox": sandbox}, {}

    def _load(self, message: dict[str, Any], _: Arrays) -> Answer:
        entries = from_json(tuple[Entry, ...], message["entries"])
        try:
            self._program = LoadedProgram(self._device, bytes(message["cubin"]), entries, self._support)
        except CudaError as error:
            fault = fault_of(str(error))
            if fault is None or fault.verdict != "limit":
                raise GraderFault(f"the assembled program cannot be loaded: {error}") from error
            raise SubmissionError("limit", fault.message) from None
        return {"loaded": True, "restored_by": self._program.restored_by}, {}

    def _run(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        assert self._program is not None
        plan, shapes = from_json(LaunchPlan, message["plan"]), from_json(tuple[LaunchShape, ...], message["shapes"])
        outcome = run_case(
            self._device, self._arena, self._program, plan, shapes, arrays, keeps_state=bool(message.get("keeps_state"))
        )
        answer = {
            "diagnostics": [asdict(one) for one in outcome.diagnostics],
            "inputs_changed": list(outcome.inputs_changed),
            "elapsed_s": outcome.elapsed_s,
            "has_state": outcome.has_state,
        }
        return answer | self._done(), dict(outcome.outputs)

    def _time(self, message: dict[str, Any], _: Arrays) -> Answer:
        from grader.backends.gpu.measure import Stopwatch  # late, so that the context is created early

        assert self._program is not None
        modules = {name: bytes(message[f"module:{name}"]) for name in message["modules"]}
        watch = Stopwatch(self._device, self._arena, self._program, self._support, modules)
        run = from_json(TimedRun, message["timed"])
        samples = watch.run(run, int(message["l2_bytes"]), lambda k: self._channel.send({"sample": k}))
        return {"samples": asdict(samples)} | self._done(), {}

    def _done(self) -> dict[str, Any]:
        printed, too_much = self._printed.take()
        return {"done": True, "printed": printed, "too_much": too_much}

    # ----------------------------------------------------------------------- the grader's own measurements

    def _ceiling(self, message: dict[str, Any], _: Arrays) -> Answer:
        from grader.backends.gpu.libraries import time_ceiling

        return {"seconds": time_ceiling(self._device, self._support, message.get("cubin"), message)}, {}

    def _library(self, message: dict[str, Any], _: Arrays) -> Answer:
        from grader.backends.gpu.libraries import time_host_library, time_library
        from grader.backends.gpu.measure import TrustedKernels

        shapes = from_json(tuple[LaunchShape, ...], message["shapes"])
        if message["host"]:
            return {"seconds": time_host_library(self._device, message, shapes)}, {}
        # Inputs as for a submission: a product of zeros or ones would draw less power, and run faster.
        self._arena.lay_out(shapes)
        kernels = TrustedKernels(self._device, {"generate": bytes(message["generator"])}, self._arena, {})
        launches = from_json(tuple[Trusted, ...], message["generate"])
        kernels.prepare(launches)
        kernels.queue(launches, 1)
        self._device.synchronise()
        return {"seconds": time_library(self._device, self._support, self._arena, message, shapes)}, {}
