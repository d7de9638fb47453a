"""The parent's side of a GPU child: requests, time limits, and errors of a child that hangs or dies."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from grader.backends.base import CaseRun, Execution, Limits
from grader.backends.gpu.wire import RawSamples, TimedRun, shapes_of
from grader.errors import GraderFault, SubmissionError, Unsupported, WarpgradeError
from grader.findings.kinds import word_of_kind
from grader.launch.fit import first_misfit
from grader.process.channel import ChannelBroken, ChannelClosed, ChannelTimeout
from grader.process.child import Closing
from grader.reading import from_json
from grader.verdict import Diagnostic, LaunchRecord

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.compile import Program
    from grader.compile.ptxas import Resources
    from grader.process.child import Child

    Answer = tuple[dict[str, Any], dict[str, npt.NDArray[np.generic]]]

START_S = 60.0  # for a machine that reads the libraries from a slow disk; usually it takes less than a second
LOAD_S = 20.0
SETTLE_S = 2.0  # for the copies and checks of a case


class ChildSession(Closing):
    """One submission in one child. A context manager, which ends the child on exit."""

    def __init__(self, child: Child, limits: Limits) -> None:
        self._child = child
        self.limits = limits
        self._ends = time.monotonic() + limits.total_s
        self._stopped: WarpgradeError | None = None
        self._program: Program | None = None
        self._ready = False
        self.sandbox = "none"

    @property
    def program(self) -> Program:
        """The loaded submission."""
        assert self._program is not None
        return self._program

    def wait_ready(self) -> None:
        """Wait until the child's context is ready. Raises GraderFault if it does not start."""
        ready, _ = self._await(START_S)
        self._ready = True
        self.sandbox = str(ready.get("sandbox", "none"))
        self.begin(LOAD_S)

    def begin(self, extra_s: float = 0.0) -> None:
        """Start the session's time limit now, with ``extra_s`` added: the time before was not the submission's."""
        self._ends = time.monotonic() + self.limits.total_s + extra_s

    def _load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Wait until the child is ready and load the program. Raises SubmissionError if it cannot be loaded."""
        if not self._ready:
            self.wait_ready()
        answer = self.call(request, LOAD_S)
        self.begin()
        return answer

    def call(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """The answer to one request of the grader (ceilings, baselines)."""
        self._send(request)
        answer, _ = self._await(timeout_s)
        return answer

    def close(self) -> None:
        """End the child at once, with its process group; closing twice is fine."""
        self._child.close()

    # ------------------------------------------------------------------------------------------ talking to the child

    def _send(self, request: dict[str, Any], arrays: dict[str, npt.NDArray[np.generic]] | None = None) -> None:
        if self._stopped is not None:
            raise self._stopped
        try:
            self._child.channel.send(request, arrays)
        except ChannelClosed:
            raise self._stop(self._died()) from None

    def _await(self, timeout_s: float, *, keep_fault: bool = False) -> Answer:
        """The next answer. A fault is raised, unless ``keep_fault``."""
        allowed_s = self._allowed(timeout_s)
        try:
            answer, arrays = self._child.channel.receive(self._watched_for(allowed_s))
        except ChannelTimeout:
            raise self._stop(self._hung(allowed_s)) from None
        except ChannelClosed:
            raise self._stop(self._died()) from None
        except ChannelBroken:
            message = "the process that ran the submission sent an invalid answer"
            raise self._stop(SubmissionError("crash", message)) from None
        self._raise_if_bad(answer, keep_fault)
        return answer, arrays

    def _watched_for(self, allowed_s: float) -> float:
        """Seconds to wait for the child's answer; subclasses may check the child first."""
        return allowed_s

    def _allowed(self, timeout_s: float) -> float:
        """``timeout_s``, but once the child is ready at most the rest of the session's time."""
        return max(0.0, min(timeout_s, self._ends - time.monotonic())) if self._ready else timeout_s

    def _raise_if_bad(self, answer: dict[str, Any], keep_fault: bool) -> None:
        if "error" in answer:
            raise self._stop(GraderFault(answer["error"]))
        if "unsupported" in answer:
            raise Unsupported(answer["unsupported"], hint=answer.get("hint", ""))
        if "fault" in answer:
            error = self._submission_error(answer)
            if answer.get("dead"):
                self._stop(error)
            if not keep_fault:
                raise error

    def _submission_error(self, answer: dict[str, Any]) -> SubmissionError:
        found = _diagnostics(answer)
        return SubmissionError(answer["fault"], answer["message"], diagnostics=found, hint=answer.get("hint", ""))

    def _stop(self, error: WarpgradeError) -> WarpgradeError:
        """End the child; every later request raises the same ``error``."""
        self._stopped = error
        self._child.close()
        return error

    def _hung(self, seconds: float) -> WarpgradeError:
        if not self._ready:
            return GraderFault(f"the GPU process did not start within {seconds:.0f} s", hint="try `grade doctor`")
        message = self._too_long("the kernel", seconds)
        more = f"if the kernel only has much to do, `--timeout {math.ceil(2 * self.limits.total_s)}` gives it more time"
        hint = f"look for a loop whose condition never becomes false, or threads that wait for one another; {more}"
        found = Diagnostic(kind="timeout", message=message, hint=hint)
        return SubmissionError("timeout", message, diagnostics=(found,), hint=hint)

    def _too_long(self, who: str, seconds: float) -> str:
        """The exceeded limit in words: that of ``who``, or the session's."""
        if time.monotonic() >= self._ends:
            return f"all runs together did not finish within {self.limits.total_s:.3g} s"
        return f"{who} did not finish within {seconds:.3g} s"

    def _died(self) -> WarpgradeError:
        self._child.wait(2.0)
        how = self._child.signal_name or f"exit status {self._child.returncode}"
        if not self._ready:
            tail = self._child.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            return GraderFault(f"the GPU process ended while starting ({how}): {tail[0]}", hint="try `grade doctor`")
        message = f"the process that ran the kernel died ({how})"
        return SubmissionError("crash", message, hint="run it with `--backend sim` to see what it does")


class GpuSession(ChildSession):
    """One kernel submission: its cases and its timed launches.

    ``restored_by`` says how its variables are restored before each launch sequence.
    """

    restored_by = ""
    _resources: Mapping[str, Resources] = {}
    _arch = ""
    _sm_count: int | None = None

    def prepare(self, support: bytes) -> None:
        """Send the grader's own kernels, without waiting for the context."""
        self._send({"do": "prepare", "support": support})

    def load(
        self,
        program: Program,
        cubin: bytes,
        resources: Mapping[str, Resources] | None = None,
        arch: str = "",
        sm_count: int | None = None,
    ) -> None:
        """Load the assembled program; it replaces the one before, for variants of one submission.

        With ``resources`` on ``arch`` with ``sm_count`` multiprocessors the finding on a launch that does not fit says
        more than CUDA's error. Raises GraderFault, SubmissionError (``limit``).
        """
        self._program, self._resources, self._arch, self._sm_count = program, resources or {}, arch, sm_count
        entries = [asdict(entry) for entry in program.entries]
        self.restored_by = str(self._load({"do": "load", "cubin": cubin, "entries": entries}).get("restored_by", ""))

    def run(self, run: CaseRun) -> Execution:
        """Run one case on fresh buffers.

        A stray write, a crash of the kernel or too much output is an Execution with ``failure``. Raises SubmissionError
        (``timeout``, ``crash`` of the process) if the session ends, Unsupported, GraderFault.
        """
        unfit = first_misfit(run.plan, self._resources, self._arch, self.program.name, self._sm_count)
        if unfit is not None:
            return Execution({}, findings=(unfit,), failure=word_of_kind(unfit.kind))
        shapes = [asdict(shape) for shape in shapes_of(run.buffers)]
        data = {b.name: b.data for b in run.buffers if b.data is not None}
        self._send(
            {"do": "run", "plan": asdict(run.plan), "shapes": shapes, "keeps_state": run.conditions.keeps_state}, data
        )
        answer, outputs = self._await(self.limits.launch_s + SETTLE_S, keep_fault=True)
        found = _diagnostics(answer)
        failure = answer.get("fault") or ("out_of_bounds" if found else None)
        if failure is None and answer.get("too_much"):
            failure, found = "limit", (self._too_much(),)
        return Execution(
            outputs=outputs,
            launches=tuple(  # without counters
                LaunchRecord(x.kernel, x.grid, x.block, x.shared_bytes, {}, backend="gpu") for x in run.plan.launches
            ),
            diagnostics=found,
            failure=failure,
            printed=str(answer.get("printed", "")),
            inputs_changed=tuple(answer.get("inputs_changed", ())),
            elapsed_s=float(answer.get("elapsed_s", 0.0)),
            has_state=bool(answer.get("has_state")),
        )

    def time(self, run: TimedRun, modules: Mapping[str, bytes], l2_bytes: int) -> RawSamples:
        """Time the submission; every launch sequence must end within ``launch_s``, all within ``total_s``.

        Raises SubmissionError if the submission fails.
        """
        request: dict[str, Any] = {"do": "time", "timed": asdict(run), "l2_bytes": l2_bytes}
        request |= {"modules": list(modules)} | {f"module:{name}": cubin for name, cubin in modules.items()}
        self._send(request)
        answer: dict[str, Any] = {}
        while not answer.get("done"):
            answer, _ = self._await(self.limits.launch_s + SETTLE_S)
        if answer.get("too_much"):
            found = self._too_much()
            raise SubmissionError("limit", found.message, diagnostics=(found,), hint=found.hint)
        return from_json(RawSamples, answer["samples"])

    def _too_much(self) -> Diagnostic:
        message = f"the kernel printed more than {self.limits.printf_bytes >> 10} kB"
        return Diagnostic(kind="limit", message=message, hint="print from one thread: if (i == 0) printf(...)")


def _diagnostics(answer: dict[str, Any]) -> tuple[Diagnostic, ...]:
    return from_json(tuple[Diagnostic, ...], answer.get("diagnostics", ()))
