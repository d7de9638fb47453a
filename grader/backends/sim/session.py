"""The simulator backend: the PTX runs in a child process with no files, no network and bounded memory.

    parent: SimBackend.open ──▶ SimSession ──request──▶ grader.backends.sim.child ──▶ grader.simt.simulate
                                           ◀── machine code to store, results ──

`start` starts the child before it is needed, because importing LLVM takes a moment.
"""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from grader.backends.base import Backend, CaseRun, Execution, Limits, SiteCounters, StartsEarly
from grader.backends.plans import dim3, scalar
from grader.backends.sim.assembling import Assembling
from grader.backends.starting import simulator_child
from grader.backends.time_limit import TimeLimit
from grader.compile import cache
from grader.errors import GraderFault, SubmissionError, Unsupported, WarpgradeError
from grader.findings.kinds import word_of_kind
from grader.findings.record import from_json
from grader.launch import DeviceLimits, Launch, Zero
from grader.launch.source import parameter_names
from grader.paths import cache_folder
from grader.process.channel import ChannelClosed, ChannelTimeout
from grader.process.child import Closing
from grader.verdict import Diagnostic, LaunchRecord, LineCounters, Operation, Timeline, WorstRequest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.compile import Program
    from grader.process.child import Child

    Arrays = dict[str, npt.NDArray[np.generic]]


START_S = 60.0
COMPILE_S = 120.0  # of a session for LLVM. A large kernel takes seconds; this only catches a compiler that hangs


class SimBackend(StartsEarly, Backend):
    """The simulated A100. ``threads`` CPU threads at most (0: as many as this process may use)."""

    name = "sim"
    device_limits = DeviceLimits()

    def __init__(self, *, threads: int = 0, sandbox: bool = True) -> None:
        self._threads = threads
        self._sandbox = sandbox
        self._started: Child | None = None

    def start(self) -> None:
        if self._started is None:
            self._started = simulator_child(sandbox=self._sandbox)

    def open(self, program: Program, limits: Limits) -> SimSession:
        """Load the program in a child of its own. Raises Unsupported, RefusedProgram, GraderFault."""
        session = self.new_session(program, limits)
        try:
            session.load(self._threads)
        except BaseException:
            session.close()
            raise
        return session

    def new_session(self, program: Program, limits: Limits) -> SimSession:
        """A session with the early child, in which the program is not loaded yet."""
        self.start()
        child, self._started = self._started, None
        assert child is not None
        return SimSession(child, program, limits)


class SimSession(Closing):
    """One submission in one simulator child. A context manager, which ends the child on exit."""

    long_work = "look for a loop whose condition never becomes false"

    def __init__(self, child: Child, program: Program, limits: Limits) -> None:
        self._child = child
        self._limits = limits
        self._ends = time.monotonic() + START_S
        self._may_compile_s = COMPILE_S
        self._stopped: WarpgradeError | None = None
        self.program = program
        self.assembling = Assembling(program)
        self.sandbox = "none"
        self.waiting = True  # for the child to start, or for an answer

    def load(self, threads: int) -> None:
        """Load the program. Raises Unsupported, or RefusedProgram if ptxas cannot read the PTX either."""
        request = {
            "do": "load",
            "ptx": self.program.ptx,
            "name": self.program.name,
            "key": self.program.key,
            "threads": threads,
            "printf_bytes": self._limits.printf_bytes,
            "instructions": self._limits.instructions,
            "instructions_per_block": self._limits.instructions_per_block,
        }
        self._send(request)
        try:
            ready, _ = self._await(START_S)
        except Unsupported:
            self.assembling.resources()
            raise
        self._child.pid = int(ready["pid"])
        self.sandbox = str(ready.get("sandbox", "none"))
        self._ends = time.monotonic() + self._limits.total_s  # importing LLVM is not the submission's time

    def run(self, run: CaseRun) -> Execution:
        """Run one case on fresh buffers.

        What the kernel does wrong is an Execution with ``failure``; what CUDA would not even start comes first, whether
        ptxas says so before or after the simulator. Raises SubmissionError (``timeout``, ``crash``) for what ends the
        session, RefusedProgram, Unsupported with the instruction and its line, GraderFault.
        """
        if self.assembling.is_done() and (refused := self._refused(run)):
            return refused
        try:
            ran = self._run(run)
        except WarpgradeError:
            if refused := self._refused(run):
                return refused
            raise
        return self._refused(run) or replace(ran, findings=(*ran.findings, *self.assembling.not_checked()))

    def _refused(self, run: CaseRun) -> Execution | None:
        found = self.assembling.refusal(run.plan)
        return None if found is None else Execution({}, findings=(found,), failure=word_of_kind(found.kind))

    def _run(self, run: CaseRun) -> Execution:
        from grader.inputs import poison

        request, word = case_request(run, self.program), run.conditions.poison_word
        arrays = {
            b.name: b.data if b.data is not None else poison(b.dtype, b.period or b.count, word) for b in run.buffers
        }
        started = time.monotonic()
        self._send(request, arrays)
        answer, outputs = self._await(self._limits.total_s)  # its limit of instructions is reached long before
        return Execution(
            outputs=outputs, launches=as_launches(answer), failure=answer["failure"], printed=answer["printed"],
            findings=tuple(map(from_json, answer["findings"])),
            inputs_changed=tuple(answer["inputs_changed"]), elapsed_s=time.monotonic() - started,
            unordered=tuple((str(role), int(line)) for role, line in answer["unordered"]),
            has_state=answer["has_state"], other_orders=tuple(answer["other_orders"]),
            sites=tuple(SiteCounters(**site) for site in answer["sites"]), spent=answer["spent"],
        )  # fmt: skip

    def close(self) -> None:
        """End the child at once; closing twice is fine."""
        self._child.close()

    # -- talking to the child ---------------------------------------------------------------------------------------
    def _send(self, request: dict[str, Any], arrays: Arrays | None = None) -> None:
        if self._stopped is not None:
            raise self._stopped
        self.waiting = True
        try:
            self._child.channel.send(request, arrays)
        except ChannelClosed:
            self._end()

    def _await(self, timeout_s: float) -> tuple[dict[str, Any], Arrays]:
        """The child's answer. Before it, the child may request stored machine code, and send code to store."""
        limit = self._time_limit(timeout_s)
        compiles: float | None = None  # since when
        while True:
            try:
                answer, arrays = self._child.channel.receive(limit.left_s())
            except ChannelTimeout:
                if not limit.is_over() and not self._child.channel.is_broken:
                    continue
                error = self._too_slow(limit)
                self._child.kill()
                raise self._stop(error) from None
            except ChannelClosed:
                self._end()
            kind = answer.get("is")
            if kind == "want":
                kept = stored_code(answer["keys"])
                self._child.channel.send(kept)
                if not kept and compiles is None:
                    compiles, limit = time.monotonic(), TimeLimit(self._child, COMPILE_S)
            elif kind == "keep":
                store_code({key: code for key, code in answer.items() if isinstance(code, bytes)})
                self._exclude(compiles)
                compiles, limit = None, self._time_limit(timeout_s)
            elif kind == "unsupported":
                raise self._stop(_unsupported(answer, self.program.name))
            elif kind == "unusable":
                hint = "`pip install 'llvmlite<0.48'` replaces it, and `grade doctor` looks at everything"
                raise self._stop(Unsupported(answer["message"], hint=hint))
            elif kind == "full":
                hint = "use smaller local arrays, fewer threads in a block, or less memory in all"
                message = "the simulator ran out of memory for this kernel"
                raise self._stop(SubmissionError("limit", message, hint=hint))
            elif kind == "fault":
                raise self._stop(GraderFault(f"the simulator failed: {answer['message']}"))
            else:
                self._ends += limit.starved_s()
                self.waiting = False
                return answer, arrays

    def _exclude(self, compiles: float | None) -> None:
        """Extend the session by the time since ``compiles``: making machine code is not the submission's time."""
        if compiles is not None:
            took_s = min(time.monotonic() - compiles, self._may_compile_s)
            self._ends += took_s
            self._may_compile_s -= took_s

    def _time_limit(self, timeout_s: float) -> TimeLimit:
        """The limit of one request, which is at most the rest of the session's time."""
        return TimeLimit(self._child, min(timeout_s, self._ends - time.monotonic()))

    def _too_slow(self, limit: TimeLimit) -> WarpgradeError:
        """The error for a kernel that exceeded the time limit, but not its limit of instructions."""
        if limit.is_starved():
            return limit.busy_machine()
        message = (
            f"the time limit of {self._limits.total_s:g} s for all cases together on the simulator ended the kernel; "
            "its budget of instructions was not used up, so it need not be an endless loop"
        )
        more = (
            f"if the kernel only has much to do, `--timeout {math.ceil(2 * self._limits.total_s)}` gives it more time"
        )
        return SubmissionError("timeout", message, hint=f"{more}; else {self.long_work}")

    def _end(self) -> None:
        """End the session, because the child died."""
        self._child.wait(5.0)
        signal = self._child.signal_name
        if signal is None:
            raise self._stop(GraderFault(f"the simulator's process ended: {self._child.stderr[-2000:].strip()}"))
        message = f"the simulator's process was ended by {signal} while this kernel ran"
        raise self._stop(SubmissionError("crash" if signal == "SIGSEGV" else "limit", message))

    def _stop(self, error: WarpgradeError) -> WarpgradeError:
        self._stopped = error
        return error


def _unsupported(answer: dict[str, Any], name: str) -> Unsupported:
    line = answer.get("line")
    message = f"the simulator cannot run {answer['what']}" + (f" ({name}:{line})" if line else "")
    hint = answer.get("hint") or "run it on a GPU with --backend gpu, or write it in another way"
    found = Diagnostic(kind="unsupported", message=message, file=name, line=line, hint=hint)
    return Unsupported(message, diagnostics=(found,), hint=hint)


def as_launches(answer: dict[str, Any]) -> tuple[LaunchRecord, ...]:
    """The launches in a child's answer."""
    return tuple(
        LaunchRecord(
            kernel=r["kernel"], grid=dim3(r["grid"]), block=dim3(r["block"]), shared_bytes=r["shared_bytes"],
            counters=r["counters"], lines=tuple(LineCounters(line["line"], line["counters"]) for line in r["lines"]),
            backend="sim",
            worst=tuple(
                WorstRequest(r["kernel"], **(w | {"block": dim3(w["block"]), "offsets": tuple(w["offsets"])}))
                for w in r["worst"]
            ),
        )
        for r in answer.get("launches", ())
    )  # fmt: skip


def as_timeline(data: dict[str, Any] | None) -> Timeline | None:
    """The timeline in a child's answer; None if it has none."""
    if not data:
        return None
    return Timeline(**(data | {"operations": tuple(Operation(**one) for one in data["operations"])}))


# -------------------------------------------------------------------------------------------------- stored machine code


_KEY = re.compile(r"[0-9a-f]{64}")
LARGEST = 64 << 20


def stored_code(keys: Iterable[str]) -> dict[str, bytes]:
    """The stored machine code of these keys; a damaged file counts as missing, and is replaced later."""
    kept = ((key, cache.read(cache_folder("sim") / key)) for key in keys if _KEY.fullmatch(key))
    return {key: code for key, code in kept if code is not None}


def store_code(codes: Mapping[str, bytes]) -> None:
    """Store machine code; without an error if the folder cannot be written."""
    with contextlib.suppress(OSError):
        for key, code in codes.items():
            if _KEY.fullmatch(key) and len(code) <= LARGEST:
                cache.write(cache_folder("sim") / key, code)


# -------------------------------------------------------------------------------------------------- a case as a request


def case_request(run: CaseRun, program: Program) -> dict[str, Any]:
    """The request for a case: steps in order, with each argument as bytes (hexadecimal) or as the name of a buffer.

    Raises Unsupported for tensor maps.
    """
    for tensor_map in run.plan.tensor_maps:
        message = (
            f"the simulator has no tensor maps ({program.name}:{tensor_map.line}): they need compute capability 9.0"
        )
        hint = "it simulates an A100, which is 8.0; run it on a newer GPU with --backend gpu"
        found = Diagnostic(kind="unsupported", message=message, file=program.name, line=tensor_map.line, hint=hint)
        raise Unsupported(message, diagnostics=(found,), hint=hint)
    steps: list[dict[str, Any]] = [{"do": "upload", "symbol": c.symbol, "buffer": c.buffer} for c in run.plan.constants]
    for step in run.plan.steps:
        if isinstance(step, Zero):
            steps.append({"do": "fill", "buffer": step.buffer})
        else:
            steps.append(_call(step, program))
    roles = {b.name: b.role for b in run.buffers}
    offsets = {b.name: b.offset for b in run.buffers if b.offset}
    counts = {b.name: b.count for b in run.buffers if b.period}
    return {
        "do": "run", "steps": steps, "roles": roles, "offsets": offsets, "counts": counts, "few": run.few,
        "counters": run.counters, "instructions": run.instructions, "conditions": asdict(run.conditions),
        "by_site": run.by_site, "changed": run.changed,
    }  # fmt: skip


def _call(launch: Launch, program: Program) -> dict[str, Any]:
    entry = program.entry(launch.kernel)
    if entry is None:
        raise GraderFault(f"the plan launches {launch.kernel}, which the program does not have")
    return {
        "do": "call", "kernel": launch.kernel, "grid": launch.grid, "block": launch.block,
        "shared_bytes": launch.shared_bytes,
        "arguments": [
            {"buffer": value} if isinstance(value, str) else {"bytes": scalar(value, parameter).tobytes().hex()}
            for value, parameter in zip(launch.args, entry.parameters, strict=True)
        ],
        "parameters": parameter_names(program.source, launch.kernel), "cooperative": launch.cooperative,
    }  # fmt: skip
