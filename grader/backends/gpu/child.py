"""The GPU child: loads one submission's cubin and runs what the parent asks for, until its context dies.

    parent                                         child
    {"do": "start", "device": 0, …}         ──▶    context, before anything is asked for
    {"do": "prepare", "support": …}         ──▶    our own kernels, health check  ──▶  {"ready": …}
    {"do": "load", "cubin": …, "entries": …}──▶    the submission's module        ──▶  {"loaded": true}
    {"do": "run", "plan": …} + arrays       ──▶    one case                       ──▶  {"done": …} + outputs
    {"do": "time", …}                       ──▶    timed launches                 ──▶  {"sample": k}… {"done": …}

An answer with ``fault`` says what the submission did wrong; after a ``dead`` one the process ends, because a CUDA
context that met an illegal access cannot be used again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from grader.backends import plans
from grader.backends.gpu import wire
from grader.backends.gpu.faults import diagnostic, fault_of, is_sticky
from grader.errors import GraderFault, SubmissionError, Unsupported

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.gpu.arena import Arena
    from grader.backends.gpu.cuda import Cuda, Device
    from grader.backends.gpu.guards import GuardCheck
    from grader.backends.gpu.program import LoadedProgram
    from grader.backends.output import Printed
    from grader.launch import LaunchPlan
    from grader.process.channel import Channel

    Answer = tuple[dict[str, Any], dict[str, npt.NDArray[np.generic]]]
    Arrays = dict[str, npt.NDArray[np.generic]]

HEALTH_BYTES = 1 << 16


def main() -> None:
    """Serve one parent; called by `grader.process.child.spawn`."""
    from grader.process.channel import ChannelClosed, attach

    channel, sandbox = attach()
    import cupy  # noqa: F401  # what is heavy is imported before the sandbox closes
    from cuda.bindings import driver  # noqa: F401  # likewise
    from cupy.cuda import function, runtime  # noqa: F401  # likewise

    from grader.backends.gpu.cuda import Cuda
    from grader.backends.output import Printed

    closed = sandbox.apply()
    message, _ = channel.receive(None)
    printed = Printed(int(message["printf_bytes"]))
    worker = Worker(channel, _made(lambda: Cuda(int(message["device"]))), printed)
    try:
        prepare, _ = channel.receive(None)
    except ChannelClosed:
        return
    worker.start(bytes(prepare["support"]), closed)
    worker.serve()


def _made(make: Callable[[], Device]) -> Callable[[], Device]:
    """Make the device now, while the parent compiles; the function returns it, or raises what went wrong."""
    try:
        device = make()
    except Exception as error:
        kept = error

        def fail() -> Device:
            raise kept

        return fail
    return lambda: device


class Worker:
    """Answers the parent's requests. ``make_device`` is called once; tests hand in a fake device."""

    def __init__(self, channel: Channel, make_device: Callable[[], Device], printed: Printed) -> None:
        self._channel = channel
        self._make_device = make_device
        self._printed = printed
        self._actions: dict[str, Callable[[dict[str, Any], Arrays], Answer]] = {
            "load": self._load,
            "run": self._run,
            "time": self._time,
            "ceiling": self._ceiling,
            "library": self._library,
        }
        self._device: Device
        self._arena: Arena
        self._guards: GuardCheck
        self._support: Any
        self._program: LoadedProgram | None = None

    def start(self, support: bytes, sandbox: str) -> None:
        """Make the context, load the grader's own kernels, and see that the GPU computes."""
        answer, _ = self._guarded(lambda: self._started(support, sandbox), plan=None)
        self._channel.send(answer)

    def serve(self) -> None:
        """Answer until the parent closes the channel, or the context is dead."""
        from grader.process.channel import ChannelClosed

        while True:
            try:
                message, arrays = self._channel.receive(None)
            except ChannelClosed:
                return
            answer, results = self._answer(message, arrays)
            self._channel.send(answer, results)
            if answer.get("dead"):
                return

    def _answer(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        action = self._actions[message["do"]]
        plan = message.get("plan") or message.get("timed", {}).get("plan")
        return self._guarded(lambda: action(message, arrays), plan and plans.plan_from_json(plan))

    def _guarded(self, action: Callable[[], Answer], plan: LaunchPlan | None) -> Answer:
        """Do it; whatever goes wrong becomes an answer."""
        from grader.backends.gpu.cuda import CudaError

        try:
            return action()
        except CudaError as error:
            return self._fault(str(error), plan), {}
        except SubmissionError as error:
            found = wire.diagnostics_to_json(error.diagnostics)
            return {"fault": error.verdict, "message": error.message, "diagnostics": found, "hint": error.hint}, {}
        except Unsupported as error:
            return {"unsupported": error.message, "hint": error.hint}, {}
        except GraderFault as error:
            return {"error": error.message}, {}
        except Exception as error:
            return {
                "error": f"the GPU process failed: {type(error).__name__}: {error}{_place(error)}",
                "dead": True,
            }, {}

    def _fault(self, text: str, plan: LaunchPlan | None) -> dict[str, Any]:
        from grader.backends.gpu.case import only_kernel

        fault = fault_of(text)
        if fault is None or (self._program is None and plan is None):
            return {"error": f"CUDA answers: {text}", "dead": True}
        kernel = only_kernel(plan) if plan else None
        line = plan.launches[0].line if plan and kernel and plan.launches[0].line else None
        found = wire.diagnostics_to_json((diagnostic(fault, kernel, line),))
        printed, _ = self._printed.take()
        return {
            "fault": fault.verdict,
            "message": found[0]["message"],
            "hint": fault.hint,
            "diagnostics": found,
            "printed": printed,
            "dead": is_sticky(text),
        }

    # ---------------------------------------------------------------------------------------------- actions

    def _started(self, support: bytes, sandbox: str) -> Answer:
        from grader.backends.gpu.arena import Arena
        from grader.backends.gpu.guards import GuardCheck

        self._device = self._make_device()
        self._arena = Arena(self._device)
        self._support = self._device.load(support)
        find_changed = self._device.function(self._support, "find_changed")
        self._guards = GuardCheck(self._device, find_changed, self._arena.guard)
        self._check_health()
        return {"ready": True, "sandbox": sandbox}, {}

    def _check_health(self) -> None:
        """A small case of our own with a planted stray byte: a GPU that was left in a bad state must not grade."""
        self._arena.lay_out((wire.Shape("health", "uint8", HEALTH_BYTES, "out"),))
        layout, base = self._arena.layout, self._arena.base
        if self._guards.strays(base, layout):
            raise GraderFault("this GPU does not keep what is written to its memory")
        self._device.fill8(base + layout.places["health"].stop + 3, self._arena.guard ^ 0xFF, 1)
        found = self._guards.strays(base, layout)
        if [stray.index for stray in found] != [HEALTH_BYTES + 3]:
            raise GraderFault("this GPU does not compute: a planted byte was not found")

    def _load(self, message: dict[str, Any], _: Arrays) -> Answer:
        from grader.backends.gpu.cuda import CudaError
        from grader.backends.gpu.program import LoadedProgram

        entries = plans.entries_from_json(message["entries"])
        try:
            self._program = LoadedProgram(self._device, bytes(message["cubin"]), entries, self._support)
        except CudaError as error:
            fault = fault_of(str(error))
            if fault is None or fault.verdict != "limit":
                raise GraderFault(f"the assembled program cannot be loaded: {error}") from error
            raise SubmissionError("limit", fault.message) from None
        return {"loaded": True, "restored_by": self._program.restored_by}, {}

    def _run(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        from grader.backends.gpu.case import CaseRunner

        assert self._program is not None
        runner = CaseRunner(self._device, self._arena, self._guards, self._program)
        shapes = wire.shapes_from_json(message["shapes"])
        outcome = runner.run(plans.plan_from_json(message["plan"]), shapes, arrays)
        printed, too_much = self._printed.take()
        answer = {
            "done": True,
            "diagnostics": wire.diagnostics_to_json(outcome.diagnostics),
            "inputs_changed": list(outcome.inputs_changed),
            "elapsed_s": outcome.elapsed_s,
            "printed": printed,
            "too_much": too_much,
        }
        return answer, outcome.outputs

    def _time(self, message: dict[str, Any], _: Arrays) -> Answer:
        from grader.backends.gpu.measure import Stopwatch

        assert self._program is not None
        run = wire.timed_run_from_json(message["timed"])
        modules = {name: bytes(message[f"module:{name}"]) for name in message["modules"]}
        watch = Stopwatch(self._device, self._arena, self._guards, self._program, self._support, modules)
        samples = watch.run(run, int(message["l2_bytes"]), lambda k: self._channel.send({"sample": k}))
        printed, too_much = self._printed.take()
        answer = wire.samples_to_json(samples) | {"done": True, "printed": printed, "too_much": too_much}
        return answer, {}

    # ----------------------------------------------------------------------- the grader's own measurements

    def _ceiling(self, message: dict[str, Any], _: Arrays) -> Answer:
        from grader.backends.gpu.libraries import time_ceiling

        return {"seconds": time_ceiling(self._real(), self._support, message.get("cubin"), message)}, {}

    def _library(self, message: dict[str, Any], _: Arrays) -> Answer:
        from grader.backends.gpu.libraries import time_host_library, time_library

        shapes = wire.shapes_from_json(message["shapes"])
        if message["host"]:
            return {"seconds": time_host_library(self._real(), message, shapes)}, {}
        self._arena.lay_out(shapes)
        self._generate(bytes(message["generator"]), message["generate"])
        return {"seconds": time_library(self._real(), self._support, self._arena, message, shapes)}, {}

    def _generate(self, cubin: bytes, launches: list[dict[str, Any]]) -> None:
        """Fill inputs as for a submission: a product of zeros or ones would draw less power, and run faster."""
        from grader.backends.gpu.trusted import TrustedKernels

        parsed = [wire.trusted_from_json(launch) for launch in launches]
        kernels = TrustedKernels(self._device, {"generate": cubin}, self._arena, {})
        kernels.prepare(parsed)
        kernels.queue(parsed, 1)
        self._device.synchronise()

    def _real(self) -> Cuda:
        from grader.backends.gpu.cuda import Cuda

        assert isinstance(self._device, Cuda)
        return self._device


def _place(error: Exception) -> str:
    import traceback
    from pathlib import Path

    frames = traceback.extract_tb(error.__traceback__)
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
