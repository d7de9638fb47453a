"""A case as the message that the simulator's child gets. Pure."""

from __future__ import annotations

from typing import Any

from grader.backends.base import CaseRun
from grader.backends.plans import scalar
from grader.compile import Entry, Program
from grader.errors import GraderFault, Unsupported
from grader.launch import Launch, Zero
from grader.launch.source import parameter_names
from grader.verdict import Diagnostic


def case_request(run: CaseRun, program: Program) -> dict[str, Any]:
    """Steps in order with every parameter's bytes (hexadecimal), or the name of the buffer whose address it is.

    Raises Unsupported for tensor maps.
    """
    _refuse_maps(run, program)
    steps: list[dict[str, Any]] = [{"do": "upload", "symbol": c.symbol, "buffer": c.buffer} for c in run.plan.constants]
    for step in run.plan.steps:
        if isinstance(step, Zero):
            steps.append({"do": "fill", "buffer": step.buffer})
        else:
            steps.append(_call(step, program))
    roles = {b.name: b.role for b in run.buffers}
    return {"do": "run", "steps": steps, "roles": roles, "counters": run.counters}


def _refuse_maps(run: CaseRun, program: Program) -> None:
    for one in run.plan.tensor_maps:
        message = f"the simulator has no tensor maps ({program.name}:{one.line}): they need compute capability 9.0"
        hint = "it simulates an A100, which is 8.0; run it on a newer GPU with --backend gpu"
        found = Diagnostic(kind="unsupported", message=message, file=program.name, line=one.line, hint=hint)
        raise Unsupported(message, diagnostics=(found,), hint=hint)


def _call(launch: Launch, program: Program) -> dict[str, Any]:
    entry = program.entry(launch.kernel)
    if entry is None:
        raise GraderFault(f"the plan launches {launch.kernel}, which the program does not have")
    return {
        "do": "call", "kernel": launch.kernel, "grid": launch.grid, "block": launch.block,
        "shared_bytes": launch.shared_bytes, "arguments": _arguments(launch, entry),
        "parameters": parameter_names(program.source, launch.kernel), "cooperative": launch.cooperative,
    }  # fmt: skip


def _arguments(launch: Launch, entry: Entry) -> list[dict[str, str]]:
    pairs = zip(launch.args, entry.parameters, strict=True)
    return [{"buffer": v} if isinstance(v, str) else {"bytes": scalar(v, p).tobytes().hex()} for v, p in pairs]
