"""One host submission on the simulator: its cases, the relayed calls, and errors of a child that hangs or dies."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from grader.backends.base import CaseRun, Execution, Limits
from grader.backends.conditions import USUAL
from grader.backends.hostfile.allowance import LOOK_S
from grader.backends.hostfile.case import (
    HostfileProcess,
    error_of,
    is_cooperative,
    printed_of,
    printed_too_much,
    run_case,
)
from grader.backends.mappings import PAGE, Span
from grader.backends.sim.session import START_S, SimSession, as_launches, as_timeline
from grader.backends.time_limit import TimeLimit
from grader.errors import GraderFault, SubmissionError, WarpgradeError
from grader.findings.kinds import kind_of
from grader.findings.record import from_json
from grader.launch.source import parameter_names
from grader.process.channel import ChannelBroken, ChannelClosed, ChannelTimeout
from grader.process.child import Closing
from grader.process.processor import one_processor

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.sim.hostfile.backend import Pair
    from grader.compile import Program
    from grader.exercise import Exercise, Size
    from grader.verdict import Diagnostic

    Arrays = Mapping[str, npt.NDArray[np.generic]]


class DeviceSession(SimSession):
    """The simulator's child as the GPU of a host file."""

    long_work = (
        "launch fewer kernels, each of which does more (a launch takes milliseconds here), or look for a loop whose "
        "condition never becomes false"
    )

    def start_device(self, pair: Pair, hostfile: str, exercise: Exercise) -> None:
        """Make the device with the shared file. Raises RefusedProgram if a GPU would refuse the program."""
        shared, program = pair.shared, self.program
        names = {entry.name: parameter_names(program.source, entry.name) for entry in program.entries}
        request = {"do": "start_device", "fd": shared.fd, "size": shared.size, "pool": pair.pool, "hostfile": hostfile}
        request |= {"devices": _devices(exercise), "scale": _scale(exercise), "parameters": names}
        request |= {"max_threads": {entry.name: entry.max_threads for entry in program.entries if entry.max_threads}}
        known = self.assembling.resources()
        self.ask(request | {"registers": {name: needs.registers for name, needs in known.items()}})

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request. Raises what `SimSession.run` raises."""
        self._send(request)
        answer, _ = self._await(self._limits.launch_s)
        return answer


def _devices(exercise: Exercise) -> int:
    """The number of GPUs in the largest case."""
    sizes: tuple[Size, ...] = (*exercise.small, exercise.simulated)
    secret = exercise.secret.get("gpus", (1, 1, 1))[1]
    return max(exercise.gpus, secret, *(size.get("gpus", 1) for size in sizes))


def _scale(exercise: Exercise) -> float:
    """Work of the timed size divided by that of the simulated one: the timeline has the timed size's proportions."""
    from grader.expressions import evaluate

    if exercise.timed is None:
        return 1.0
    for work in (exercise.work.bytes, exercise.work.flops):
        small, large = float(evaluate(work, exercise.simulated)), float(evaluate(work, exercise.timed))
        if small > 0 and large > 0:
            return max(1.0, large / small)
    return 1.0


GAP_BYTES = PAGE  # after each array, so that an access a little past its end does not hit the next array
LATE_S = 0.1  # for the rest of a message that has begun to arrive
CALL_S = 0.001  # the host file's own time for a call to the device


class HostfileSimSession(Closing):
    """One host submission in its two children. A context manager, which ends both on exit."""

    def __init__(self, pair: Pair, exercise: Exercise, program: Program, limits: Limits) -> None:
        self._pair = pair
        self._exercise = exercise
        self._limits = limits
        self._device = DeviceSession(pair.device, program, limits)
        self._process = HostfileProcess(pair.host, pair.files, pair.memory_bytes)
        self._arrays: dict[str, tuple[npt.NDArray[np.generic], npt.NDArray[np.generic]]] = {}
        self._spans: dict[str, Span] = {}
        self._conditions = USUAL
        self._reports: list[dict[str, Any]] = []
        self._graded = False
        self._calls = 0  # of the device, since the last request
        self._stopped: WarpgradeError | None = None
        self._is_closed = False
        self.program = program
        self.sandbox = "none"

    def load(self, source: bytes, name: str, threads: int) -> None:
        """Start the device, then load module and host file. Raises SubmissionError, RefusedProgram, GraderFault."""
        self._process.name = name
        shared, channel = self._pair.shared, self._pair.host.channel
        request = {"do": "start", "fd": shared.fd, "size": shared.size, "name": name, **self._pair.files.to_dict()}
        request |= {"inner": self._pair.inner.to_dict()}
        with contextlib.suppress(ChannelClosed):  # reported below, at the wait for its answer
            channel.send(request | {"printf_bytes": self._limits.printf_bytes})
        self._device.load(threads)
        self._device.start_device(self._pair, name, self._exercise)
        try:
            ready, _ = self._pair.host.channel.receive(START_S)
        except (ChannelClosed, ChannelTimeout, ChannelBroken):
            self._pair.host.kill()
            tail = self._pair.host.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            raise self._stop(GraderFault(f"the host file's process does not start: {tail[0]}")) from None
        if "error" in ready:
            raise self._stop(GraderFault(str(ready["error"])))
        self._pair.host.pid = int(ready["pid"])
        self._process.confine()
        both = {self._device.sandbox, ready.get("sandbox")}
        self.sandbox = "landlock" if both == {"landlock"} else "none"
        cooperative = is_cooperative(self.program)
        self._ask({"do": "load", "source": source, "name": name, "cooperative": cooperative})

    def run(self, run: CaseRun) -> Execution:
        """Run one case: `setup` and a run on warm-up inputs, then the graded run.

        An error of the host file or its kernels is an Execution with ``failure``, even if it ends the session. Raises
        Unsupported, GraderFault.
        """
        self._reports, self._conditions = [], run.conditions
        started = time.monotonic()
        try:
            # Host file, device and this thread take turns, thousands of times.
            with one_processor((self._pair.host.pid, self._pair.device.pid)):
                ended = run_case(self, self._exercise, run.buffers)
        except SubmissionError as error:
            if not self._reports:  # the error is in `setup`: its kernels' findings may explain it
                self._end_run()
            return self._execution(error=error, elapsed_s=time.monotonic() - started)
        return self._execution(ended.outputs, ended.inputs_changed, elapsed_s=time.monotonic() - started)

    def set_up(self, data: Arrays) -> dict[str, npt.NDArray[np.generic]]:
        """Share copies of ``data`` with the host file, and call its `setup`.

        The returned arrays are the parent's own: `go` copies them to the shared file, and back after the run.
        """
        self._arrays, arrays, bound = {}, [], {}
        if self._conditions == USUAL:  # else it is a repetition of the last case, at the same addresses
            self._spans = {}
        roles = {array.name: array.role for array in self._exercise.arrays}
        for name, values in data.items():
            if name not in self._spans:
                self._spans[name] = self._pair.shared.reserve(values.nbytes)
                self._pair.shared.reserve(GAP_BYTES)
            span = self._spans[name]
            there = self._pair.shared.array(span, values.dtype.name)
            there[:] = values
            self._arrays[name] = (values.copy(), there)
            arrays.append({"offset": span.offset, "size": span.size, "dtype": values.dtype.name})
            bound[name] = [span.offset, span.size, values.dtype.name, roles[name]]
        self._asked({"do": "bind", "arrays": bound, "conditions": asdict(self._conditions)})
        self._graded = False
        try:
            self._ask({"do": "setup", "arrays": arrays})
        finally:
            self._check_limits(now=True)
        return {name: own for name, (own, _) in self._arrays.items()}

    def go(self) -> float:
        """Call `run` once, the first time after `set_up` on warm-up inputs; seconds by the parent's clock.

        Raises SubmissionError for an exception in the host file, a run that does not end, or a process that died.
        """
        for own, there in self._arrays.values():
            there[:] = own
        self._asked({"do": "begin_run", "graded": self._graded})
        started = time.perf_counter()
        try:
            self._ask({"do": "run"})
        finally:
            seconds = time.perf_counter() - started
            for own, there in self._arrays.values():
                own[:] = there
            self._check_limits(now=True)  # after the copies, which must be made at once
            self._end_run()
        self._graded = True
        return seconds

    def _end_run(self) -> None:
        if self._stopped is None:
            self._reports.append(self._asked({"do": "end_run"}))

    # -- the two children --------------------------------------------------------------------------------------------
    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer of the host file's process to one request; its calls before it are relayed to the device."""
        from grader.standin.protocol import relayed

        if self._stopped is not None:
            raise self._stopped
        limit = TimeLimit(self._pair.host, self._limits.launch_s)
        answer = self._exchanged(request, limit)
        self._calls = 0
        while answer.get("is") == "call":
            self._calls += 1
            called = time.monotonic()
            result = self._asked(relayed(answer))
            result.pop("is", None)
            # The device has its own limits; but a loop of calls that do nothing must exceed the host file's limit.
            limit.add(max(0.0, time.monotonic() - called - CALL_S))
            self._check_limits()
            answer = self._exchanged(result, limit)
        if "fault" in answer:
            raise error_of(answer, self._process.name)
        return answer

    def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        """The device's answer to one request; an error ends the session."""
        if self._stopped is not None:
            raise self._stopped
        try:
            return self._device.ask(request)
        except WarpgradeError as error:
            raise self._stop(error) from None

    def _exchanged(self, message: dict[str, Any], limit: TimeLimit) -> dict[str, Any]:
        channel = self._pair.host.channel
        try:
            channel.send(message)
            while not channel.arrives(min(LOOK_S, limit.left_s())):
                self._check_limits()
                if limit.left_s() == 0.0 and limit.is_over():
                    raise self._stop(self._hung(limit))
            return channel.receive(LATE_S + limit.left_s())[0]
        except ChannelTimeout:
            raise self._stop(self._hung(limit)) from None
        except ChannelBroken:
            message_ = "the process that ran the host file sent an invalid answer"
            raise self._stop(SubmissionError("crash", message_)) from None
        except ChannelClosed:
            raise self._stop(self._process.died()) from None

    def _check_limits(self, *, now: bool = False) -> None:
        """End the host file's process and raise SubmissionError if it exceeds its limits."""
        error = self._process.over_limit(now=now) if self._stopped is None else None
        if error is not None:
            raise self._stop(error)

    def _hung(self, limit: TimeLimit) -> WarpgradeError:
        """The error for a host file that exceeded its time, with its current line if known."""
        if not self._calls and limit.is_starved():  # one that calls waits for answers, not for a processor
            return limit.busy_machine()
        message = f"the host file did not return within {self._limits.launch_s:.3g} s"
        hint = "look for a loop whose condition never becomes false; `--timeout SECONDS` gives it more time"
        return self._process.hung(message, hint)

    def _stop(self, error: WarpgradeError) -> WarpgradeError:
        self._stopped = error
        self._pair.end()
        return error

    # -- results -----------------------------------------------------------------------------------------------------
    def _execution(
        self, outputs: Mapping[str, Any] | None = None, changed: tuple[str, ...] = (),
        error: SubmissionError | None = None, elapsed_s: float = 0.0,
    ) -> Execution:  # fmt: skip
        """The result of the graded run; a failure of the run on warm-up inputs counts if the graded one has none.

        An exception of the host file counts more than a race, and less than a kernel's fault, which is its cause.
        """
        failed = next((report for report in reversed(self._reports) if report["failure"]), None)
        last = self._reports[-1] if self._graded and self._reports else {}
        shown = failed or (self._reports[-1] if self._reports else {})  # includes warnings of a failed setup
        diagnostics: tuple[Diagnostic, ...] = ()
        findings = tuple(map(from_json, shown.get("findings", ())))
        failure = failed["failure"] if failed else None
        if error is not None:
            findings = tuple(one for one in findings if one.kind != "unfinished")  # it did not come to its end
            if failure in (None, "race") or error.verdict in ("unsupported", "timeout"):
                failure, diagnostics = error.verdict, error.diagnostics
                faults = tuple(one for one in findings if kind_of(one.kind).word == failure and one.space)
                if faults:  # of a kernel, which CUDA only reports
                    diagnostics, findings = (), (*faults, *(one for one in findings if one not in faults))
        findings = (*findings, *self._device.assembling.not_checked())
        printed, too_much = self._printed()
        printed += "".join(str(report["printed"]) for report in self._reports[-1:])
        if too_much and failure is None:
            said = printed_too_much("the host file", self._process.name, self._limits.printf_bytes)
            failure, diagnostics = "limit", (said,)
        return Execution(
            outputs=outputs or {}, launches=as_launches(last), diagnostics=diagnostics, findings=findings,
            failure=failure, printed=printed, inputs_changed=changed, elapsed_s=elapsed_s,
            timeline=as_timeline(last.get("timeline")), host_counters=dict(last.get("host_counters", {})),
            unordered=tuple((str(role), int(line)) for role, line in last.get("unordered", ())),
            other_orders=tuple(last.get("other_orders", ())),
        )  # fmt: skip

    def _printed(self) -> tuple[str, bool]:
        """The host file's output, and whether it was too long; from the output file if its process does not answer."""
        limit_bytes = self._limits.printf_bytes
        try:
            return printed_of(self._ask({"do": "printed"}), limit_bytes)
        except WarpgradeError:
            return self._pair.files.printed(limit_bytes), False

    def close(self) -> None:
        """End both children at once; closing twice is fine."""
        if not self._is_closed:
            self._is_closed = True
            self._pair.close()
            self._process.close()
